// Messages under way: who shares what with whom, and when they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "passes/cost/flow.h"
#include "weft/topology.h"

namespace weft::cost {

// Not thread safe. Its arguments outlive it.
class Network {
 public:
  Network(const Topology& topology, Routes& routes);

  // Finds arrivals. All flows of a depth come at once, and depths in order.
  void resolve(std::vector<Flow>& flows);

  // What was occupied longest, and how long.
  std::string busiest(double& seconds) const;

 private:
  // One flow's use of one resource: a direction of a link, a switch, or a rank's port.
  struct Use {
    std::uint32_t flow;
    double work;  // seconds, if it has the resource alone
    int next;     // use of the same resource, or -1
  };
  struct Resource {
    int first = -1;  // uses at this depth
    int uses = 0;
    // Work of the depths before that came without a break: it may still be under way.
    double begin = 0, end = 0, work = 0;
    double busy = 0;
  };

  void use_all(std::uint32_t number, Flow& flow);
  void use(std::uint32_t flow, std::size_t resource, double work);
  void serve(Resource& resource, std::vector<Flow>& flows);
  double share(std::vector<Flow>& flows);
  std::string name(std::size_t resource) const;

  const Topology& topology_;
  Routes& routes_;
  std::vector<Resource> resources_;
  std::vector<Use> uses_;
  std::vector<std::size_t> used_;
  struct Demand {
    double ready, work;
    std::uint32_t flow;
  };
  std::vector<Demand> demands_;
  // Virtual time at which a demand is through, and its number: the earliest first.
  using Due = std::pair<double, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace weft::cost
