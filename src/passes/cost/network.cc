#include "passes/cost/network.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::cost {
namespace {

std::size_t index(int value) { return static_cast<std::size_t>(value); }

}  // namespace

// Resources: two directions of each link, then vertices, then two ports of each rank.
Network::Network(const Topology& topology, Routes& routes) : topology_(topology), routes_(routes) {
  resources_.resize(2 * topology.links.size() + topology.vertices.size() +
                    2 * topology.ranks.size());
}

void Network::use(std::uint32_t flow, std::size_t resource, double work) {
  Resource& used = resources_[resource];
  if (used.uses++ == 0) used_.push_back(resource);
  uses_.push_back({flow, work, used.first});
  used.first = static_cast<int>(uses_.size()) - 1;
  used.busy += work;
}

void Network::use_all(std::uint32_t number, Flow& flow) {
  const std::size_t links = 2 * topology_.links.size();
  double longest = 0, latency = 0;
  const auto& path = routes_.path(flow.from, flow.to);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Topology::Link& link = topology_.links[index(path[i].link)];
    const double work = link.overhead + flow.bytes / link.bandwidth;
    longest = std::max(longest, work);
    latency += link.latency;
    if (link.shared)
      use(number, 2 * index(path[i].link) + (link.full_duplex && !path[i].forward), work);
    if (i + 1 == path.size()) break;
    const int end = path[i].forward ? link.b : link.a;
    const Topology::Vertex& vertex = topology_.vertices[index(end)];
    latency += vertex.latency;
    if (vertex.bandwidth > 0) use(number, links + index(end), flow.bytes / vertex.bandwidth);
  }
  flow.left = flow.ready + longest;
  flow.arrival = latency;
  if (!topology_.one_port) return;
  const std::size_t ports = links + topology_.vertices.size();
  use(number, ports + 2 * index(flow.from), longest);
  use(number, ports + 2 * index(flow.to) + 1, longest);
}

void Network::resolve(std::vector<Flow>& flows) {
  uses_.clear();
  for (std::size_t i = 0; i < flows.size(); ++i) use_all(static_cast<std::uint32_t>(i), flows[i]);
  for (std::size_t resource : used_) {
    serve(resources_[resource], flows);
    resources_[resource].first = -1;
    resources_[resource].uses = 0;
  }
  used_.clear();
  for (Flow& flow : flows) flow.arrival += flow.left;
}

// When each of the uses of one resource is through with it.
void Network::serve(Resource& resource, std::vector<Flow>& flows) {
  demands_.clear();
  double first = flows[uses_[index(resource.first)].flow].ready, work = 0;
  bool queued = false;
  for (int i = resource.first; i >= 0; i = uses_[index(i)].next) {
    const Use& use = uses_[index(i)];
    double ready = flows[use.flow].ready;
    first = std::min(first, ready);
    work += use.work;
    // What is left at that time of the work before it, taken as spread evenly.
    if (ready >= resource.begin && ready < resource.end) {
      ready += resource.work * (resource.end - ready) / (resource.end - resource.begin);
      queued = true;
    }
    demands_.push_back({ready, use.work, use.flow});
  }
  resource.begin = queued ? std::min(resource.begin, first) : first;
  resource.work = queued ? resource.work + work : work;
  resource.end = share(flows);
}

// Processor sharing: of k demands under way each advances at 1/k. Virtual time is the work that
// a demand has got which was there all along; each is through at its begin plus its work in it.
// Returns when the last one is through.
double Network::share(std::vector<Flow>& flows) {
  double end = 0;
  const auto through = [&](std::size_t number, double when) {
    Flow& flow = flows[demands_[number].flow];
    flow.left = std::max(flow.left, when);
    end = std::max(end, when);
  };
  if (demands_.size() == 1) {
    through(0, demands_[0].ready + demands_[0].work);
    return end;
  }
  std::sort(demands_.begin(), demands_.end(),
            [](const Demand& a, const Demand& b) { return a.ready < b.ready; });
  double now = 0, served = 0;
  const auto serve_until = [&](double limit) {
    while (!due_.empty()) {
      const auto [at, number] = due_.top();
      const double when = now + (at - served) * static_cast<double>(due_.size());
      if (when > limit) break;
      through(number, when);
      due_.pop();
      now = when, served = at;
    }
    if (!due_.empty()) served += (limit - now) / static_cast<double>(due_.size());
    now = limit;
  };
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    serve_until(demands_[i].ready);
    due_.push({served + demands_[i].work, i});
  }
  serve_until(std::numeric_limits<double>::infinity());
  return end;
}

std::string Network::busiest(double& seconds) const {
  std::size_t most = 0;
  for (std::size_t i = 0; i < resources_.size(); ++i)
    if (resources_[i].busy > resources_[most].busy) most = i;
  seconds = resources_.empty() ? 0 : resources_[most].busy;
  return seconds > 0 ? name(most) : "";
}

std::string Network::name(std::size_t resource) const {
  const std::size_t links = 2 * topology_.links.size();
  const auto called = [&](int vertex) { return topology_.vertices[index(vertex)].name; };
  if (resource < links) {
    const Topology::Link& link = topology_.links[resource / 2];
    if (!link.full_duplex) return called(link.a) + " - " + called(link.b);
    return resource % 2 ? called(link.b) + " -> " + called(link.a)
                        : called(link.a) + " -> " + called(link.b);
  }
  resource -= links;
  if (resource < topology_.vertices.size()) return called(static_cast<int>(resource));
  resource -= topology_.vertices.size();
  return called(topology_.ranks[resource / 2]) + (resource % 2 ? ", receiving" : ", sending");
}

}  // namespace weft::cost
