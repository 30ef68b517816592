#include <cmath>
#include <cstddef>
#include <string>

#include "weft/error.h"
#include "weft/topology.h"

namespace weft {
namespace {

class Check {
 public:
  explicit Check(const Topology& topology) : topology_(topology) {}

  void all() const {
    for (std::size_t i = 0; i < topology_.vertices.size(); ++i) vertex(i);
    for (const Topology::Link& one : topology_.links) link(one);
    if (topology_.ranks.empty()) refuse("it has no rank");
    for (std::size_t rank = 0; rank < topology_.ranks.size(); ++rank)
      if (!exists(topology_.ranks[rank]))
        refuse("rank " + std::to_string(rank) + " lies on vertex " +
               std::to_string(topology_.ranks[rank]) + ", which there is not");
    quantity("the rate of copies", topology_.copy);
    quantity("the rate of reductions", topology_.reduce);
    quantity("the time of a step", topology_.step);
    quantity("the time of a call", topology_.call);
    for (std::size_t i = 0; i < topology_.by_size.size(); ++i) rates(i);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidArgument("topology " + topology_.name + ": " + why);
  }

  bool exists(int vertex) const {
    return vertex >= 0 && static_cast<std::size_t>(vertex) < topology_.vertices.size();
  }

  void quantity(const std::string& what, double value) const {
    if (!std::isfinite(value) || value < 0)
      refuse(what + " is " + std::to_string(value) + ": give a number that is not negative");
  }

  void rates(std::size_t i) const {
    const Topology::Rates& one = topology_.by_size[i];
    const std::string where = " with " + std::to_string(one.bytes) + " bytes of buffers";
    quantity("the rate of copies" + where, one.copy);
    quantity("the rate of reductions" + where, one.reduce);
    quantity("the rate of fetches" + where, one.fetch);
    quantity("the rate of stores" + where, one.store);
    const double least = i == 0 ? 0 : topology_.by_size[i - 1].bytes;
    if (!std::isfinite(one.bytes) || one.bytes <= least)
      refuse("rates" + where + " follow those with " + std::to_string(least) +
             ": give sizes that grow");
  }

  void vertex(std::size_t i) const {
    const Topology::Vertex& one = topology_.vertices[i];
    quantity("the latency of " + one.name, one.latency);
    quantity("the bandwidth of " + one.name, one.bandwidth);
  }

  void link(const Topology::Link& one) const {
    if (!exists(one.a) || !exists(one.b) || one.a == one.b)
      refuse("a link from vertex " + std::to_string(one.a) + " to " + std::to_string(one.b) +
             ": name two of the " + std::to_string(topology_.vertices.size()));
    const std::string name = " of the link " + topology_.vertices[index(one.a)].name + " - " +
                             topology_.vertices[index(one.b)].name;
    quantity("the latency" + name, one.latency);
    quantity("the bandwidth" + name, one.bandwidth);
    if (one.bandwidth == 0) refuse("the bandwidth" + name + " is missing");
    quantity("the overhead" + name, one.overhead);
    quantity("the watts" + name, one.idle_watts);
    quantity("the watts" + name, one.busy_watts);
  }

  static std::size_t index(int value) { return static_cast<std::size_t>(value); }

  const Topology& topology_;
};

}  // namespace

void check(const Topology& topology) { Check(topology).all(); }

void check(const Topology& topology, int ranks) {
  check(topology);
  if (ranks >= 1 && static_cast<std::size_t>(ranks) <= topology.ranks.size()) return;
  throw InvalidArgument("topology " + topology.name + " has " +
                        std::to_string(topology.ranks.size()) + " ranks, not " +
                        std::to_string(ranks) + ": ask for fewer, or give it more nodes");
}

}  // namespace weft
