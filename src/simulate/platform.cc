#include "simulate/platform.h"

#include <simgrid/plugins/energy.h>

#include <cstddef>
#include <sstream>
#include <string>

namespace weft::simulate {
namespace {

namespace sg = simgrid::s4u;
using Policy = sg::Link::SharingPolicy;

// Bytes a second of what has no limit.
constexpr double kEndless = 1e18;

std::size_t index(int value) { return static_cast<std::size_t>(value); }

// "idle:busy" of one part: two directions share a link's watts evenly.
std::string watts(const Topology::Link& link, double parts) {
  std::ostringstream text;
  text.precision(17);
  text << link.idle_watts / parts << ":" << link.busy_watts / parts;
  return text.str();
}

}  // namespace

Platform::Platform(const Topology& topology, Routes& routes,
                   const std::set<std::pair<int, int>>& pairs, bool latencies)
    : topology_(topology),
      routes_(routes),
      latencies_(latencies),
      zone_(sg::create_full_zone("weft")),
      used_(topology.links.size()) {
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank)
    hosts_.push_back(zone_->create_host("rank" + std::to_string(rank), 1)->seal());
  for (std::size_t i = 0; i < topology.links.size(); ++i)
    add_link(topology.links[i], "link" + std::to_string(i));
  for (std::size_t i = 0; i < topology.vertices.size(); ++i)
    switches_.push_back(add_switch(topology.vertices[i], "switch" + std::to_string(i)));
  std::set<std::pair<int, int>> both = pairs;
  for (const auto& [from, to] : pairs) both.emplace(to, from);
  for (const auto& [from, to] : both) add_route(from, to);
  zone_->seal();
}

sg::Link* Platform::add_switch(const Topology::Vertex& vertex, const std::string& name) {
  const bool limited = vertex.bandwidth > 0;
  if (!limited && vertex.latency <= 0) return nullptr;
  sg::Link* made = zone_->create_link(name, limited ? vertex.bandwidth : kEndless);
  return made->set_latency(latencies_ ? vertex.latency : 0)
      ->set_sharing_policy(limited ? Policy::SHARED : Policy::FATPIPE)
      ->seal();
}

void Platform::add_link(const Topology::Link& link, const std::string& name) {
  std::vector<sg::Link*>& parts = links_.emplace_back();
  const int count = link.full_duplex ? 2 : 1;
  for (int part = 0; part < count; ++part) {
    sg::Link* made = zone_->create_link(name + (part ? "back" : ""), link.bandwidth);
    made->set_latency(latencies_ ? link.latency : 0)
        ->set_sharing_policy(link.shared ? Policy::SHARED : Policy::FATPIPE)
        ->set_property("wattage_range", watts(link, count));
    parts.push_back(made->seal());
  }
}

sg::LinkInRoute Platform::at(const Routes::Hop& hop) const {
  const std::vector<sg::Link*>& parts = links_[index(hop.link)];
  return sg::LinkInRoute(parts.size() > 1 && !hop.forward ? parts[1] : parts[0]);
}

void Platform::add_route(int from, int to) {
  std::vector<sg::LinkInRoute> way;
  int before = -1;  // the vertex between two hops
  for (const Routes::Hop& hop : routes_.path(from, to)) {
    if (before >= 0 && switches_[index(before)]) way.emplace_back(switches_[index(before)]);
    way.push_back(at(hop));
    const Topology::Link& link = topology_.links[index(hop.link)];
    before = hop.forward ? link.b : link.a;
  }
  if (way.empty()) return;  // one vertex: nothing is carried
  zone_->add_route(host(from)->get_netpoint(), host(to)->get_netpoint(), nullptr, nullptr, way,
                   false);
}

void Platform::use(int from, int to) {
  if (!ways_used_.emplace(from, to).second) return;
  for (const Routes::Hop& hop : routes_.path(from, to)) used_[index(hop.link)] = true;
}

double Platform::joules() const {
  double sum = 0;
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (used_[i])
      for (const sg::Link* part : links_[i]) sum += sg_link_get_consumed_energy(part);
  return sum;
}

}  // namespace weft::simulate
