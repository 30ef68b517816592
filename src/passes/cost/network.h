// Messages under way: who shares what with whom, and when they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
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

  // The resource that was occupied longest, and how long.
  std::string busiest(double& seconds) const;

 private:
  // Uses of one resource (a direction of a link, a switch, or a rank's port) that begin at the same
  // time and are as long.
  struct Demand {
    double ready, work;  // seconds; of one of them, if it has the resource alone
    int count;
    int next;      // of the same resource, or -1
    double share;  // virtual time when they are through, then when that is
  };
  struct Resource {
    int first = -1;  // demand at this depth, the latest
    // Work of the depths before that came without a break: it may still be under way.
    double begin = 0, end = 0, work = 0;
    double busy = 0;
  };

  // A link or a switch on a stream's way.
  struct Stop {
    double overhead = 0, bandwidth = 1;
    std::uint32_t resource = 0;
    bool link = true;
    bool shared = true;
  };
  // The stops of a stream's messages, and the latency of all.
  struct Way {
    std::uint32_t first = 0, end = 0;  // of stops_
    double latency = 0;
  };

  const Way& way_of(const Flow& flow);
  void find_way(const Flow& flow, Way& way);
  void use_all(Flow& flow);
  void use(const Flow& flow, std::size_t resource, double work);
  void serve(Resource& resource);
  double share();
  std::string name(std::size_t resource) const;

  const Topology& topology_;
  Routes& routes_;
  std::vector<Way> ways_;  // by stream, as far as known
  std::vector<Stop> stops_;
  std::vector<Resource> resources_;
  std::vector<Demand> demands_;
  std::vector<std::uint32_t> uses_;     // demands, flow after flow
  std::vector<std::uint32_t> used_by_;  // uses of each flow
  std::vector<std::size_t> used_;       // resources at this depth
  std::vector<Demand*> sharing_;        // demands of the resource that is served
  // The earliest in virtual time first.
  struct Later {
    bool operator()(const Demand* a, const Demand* b) const { return a->share > b->share; }
  };
  std::priority_queue<Demand*, std::vector<Demand*>, Later> due_;
};

}  // namespace weft::cost
