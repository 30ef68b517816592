#include "weft/measure.h"

#include <functional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "measure/joined.h"
#include "measure/network.h"
#include "measure/node.h"
#include "measure/probe.h"
#include "weft/error.h"

namespace weft {
namespace {

using measuring::Members;
using measuring::Probe;

void refuse_a_crowd(Probe& probe) {
  const Crowd crowd = densest(probe.exchange(cpu_share()));
  const std::string ranks = std::to_string(crowd.ranks), cores = std::to_string(crowd.cores);
  if (crowd.crowded())
    throw Unsupported(ranks + " ranks on " + cores + " cores take turns, which no topology " +
                      "describes: measure with " + cores + " ranks at most");
}

void refuse_separate_mates(Probe& probe, const std::vector<int>& mates) {
  bool loads = true;
  for (int mate : mates) loads = loads && probe.of(mate);
  for (const std::string& said : probe.exchange(loads ? "all" : "some"))
    if (said != "all")
      throw Unsupported(
          "ranks of one node that do not share memory cannot be measured: leave the choice of the "
          "fabric to Weft (WEFT_FABRIC)");
}

// Each number that was measured of a node.
void visit(Topology& part, const std::function<void(double&)>& figure) {
  for (Topology::Vertex& vertex : part.vertices) {
    double socket = vertex.socket;
    figure(socket);
    vertex.socket = static_cast<int>(socket);
  }
  for (Topology::Link& link : part.links) figure(link.latency), figure(link.bandwidth);
  for (double* rate : {&part.copy, &part.reduce, &part.step, &part.call}) figure(*rate);
  for (Topology::Rates& one : part.by_size)
    for (double* rate : {&one.copy, &one.reduce, &one.fetch, &one.store}) figure(*rate);
}

// A node of `members` as its first rank has seen it, on all ranks. `mine` is the own node.
Topology shared(Communicator& communicator, const std::vector<int>& members, const Topology& mine) {
  Topology part = mine;
  if (communicator.rank() != members[0]) {
    const int count = static_cast<int>(members.size());
    part.vertices.assign(members.size(), {});
    part.links.clear();
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b) part.links.push_back({.a = a, .b = b, .memory = true});
  }
  std::vector<double> figures;
  visit(part, [&](double& figure) { figures.push_back(figure); });
  communicator.broadcast(figures.data(), figures.size(), DType::kF64, members[0]);
  auto next = figures.begin();
  visit(part, [&](double& figure) { figure = *next++; });
  return part;
}

}  // namespace

Topology measure(Communicator& communicator, const MeasureOptions& options) {
  const Members nodes = measuring::members_of(communicator.place());
  const int node = communicator.place()[static_cast<std::size_t>(communicator.rank())];
  Probe probe(communicator, measuring::kUnderWay * measuring::kFarPiece);
  refuse_separate_mates(probe, nodes[static_cast<std::size_t>(node)]);
  refuse_a_crowd(probe);
  if (nodes.size() == 1) return measuring::measure_node(communicator, options);
  const auto mates = communicator.split(node, communicator.rank());
  const Topology mine = measuring::measure_node(*mates, options);
  std::vector<Topology> parts;
  for (const std::vector<int>& members : nodes)
    parts.push_back(shared(communicator, members, mine));
  return measuring::joined(nodes, parts, measuring::measure_network(probe, nodes, options.times));
}

}  // namespace weft
