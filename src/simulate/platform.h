// A topology as a SimGrid platform: a host for each rank, our links, and our routes between the
// pairs that talk.
#pragma once

#include <simgrid/s4u.hpp>

#include <set>
#include <utility>
#include <vector>

#include "weft/topology.h"

namespace weft::simulate {

// A link has one part if its directions share it, else two, forward first. So has a switch that
// takes time or has a limit: one part for all that passes.
class Platform {
 public:
  // Made in the process's only engine, which is there already. The topology outlives this.
  // `pairs` are those that may send; ways back are known too, as cross-traffic asks for them.
  // Without latencies all links have none.
  Platform(const Topology& topology, Routes& routes, const std::set<std::pair<int, int>>& pairs,
           bool latencies);

  simgrid::s4u::Host* host(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  // Says that a message takes this way, for joules().
  void use(int from, int to);
  // Joules of the links that carried traffic, until now. The link-energy plugin must be there.
  double joules() const;

 private:
  simgrid::s4u::Link* add_switch(const Topology::Vertex& vertex, const std::string& name);
  void add_link(const Topology::Link& link, const std::string& name);
  void add_route(int from, int to);
  simgrid::s4u::LinkInRoute at(const Routes::Hop& hop) const;

  const Topology& topology_;
  Routes& routes_;
  bool latencies_;
  simgrid::s4u::NetZone* zone_;
  std::vector<simgrid::s4u::Host*> hosts_;               // by rank
  std::vector<std::vector<simgrid::s4u::Link*>> links_;  // the parts of each link
  std::vector<simgrid::s4u::Link*> switches_;            // by vertex; null: it takes no time
  std::vector<bool> used_;                               // links
  std::set<std::pair<int, int>> ways_used_;
};

}  // namespace weft::simulate
