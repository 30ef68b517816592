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

void Network::use(const Flow& flow, std::size_t resource, double work) {
  Resource& used = resources_[resource];
  used.busy += work;
  if (used.first < 0) used_.push_back(resource);
  // Flows of one exchange come one after the other and are alike.
  Demand* latest = used.first < 0 ? nullptr : &demands_[index(used.first)];
  if (latest && latest->ready == flow.ready && latest->work == work) {
    ++latest->count;
  } else {
    demands_.push_back({flow.ready, work, 1, used.first, 0});
    used.first = static_cast<int>(demands_.size()) - 1;
  }
  uses_.push_back(static_cast<std::uint32_t>(used.first));
}

const Network::Way& Network::way_of(const Flow& flow) {
  if (index(flow.stream) >= ways_.size()) ways_.resize(index(flow.stream) + 1);
  Way& way = ways_[index(flow.stream)];
  if (way.first == way.end) find_way(flow, way);
  return way;
}

void Network::find_way(const Flow& flow, Way& way) {
  const auto links = static_cast<std::uint32_t>(2 * topology_.links.size());
  const auto& path = routes_.path(flow.from, flow.to);
  way.first = static_cast<std::uint32_t>(stops_.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto [number, forward] = path[i];
    const Topology::Link& link = topology_.links[index(number)];
    way.latency += link.latency;
    stops_.push_back({link.overhead, link.bandwidth,
                      static_cast<std::uint32_t>(2 * number + (link.full_duplex && !forward)), true,
                      link.shared});
    if (i + 1 == path.size()) break;
    const int end = forward ? link.b : link.a;
    const Topology::Vertex& vertex = topology_.vertices[index(end)];
    way.latency += vertex.latency;
    if (vertex.bandwidth > 0)
      stops_.push_back({0, vertex.bandwidth, links + static_cast<std::uint32_t>(end), false, true});
  }
  way.end = static_cast<std::uint32_t>(stops_.size());
}

void Network::use_all(Flow& flow) {
  const Way& way = way_of(flow);
  double longest = 0;
  for (std::uint32_t i = way.first; i < way.end; ++i) {
    const Stop& stop = stops_[i];
    const double work = stop.overhead + flow.bytes / stop.bandwidth;
    if (stop.link) longest = std::max(longest, work);
    if (stop.shared) use(flow, stop.resource, work);
  }
  flow.left = flow.ready + longest;
  flow.arrival = way.latency;
  if (!topology_.one_port) return;
  const std::size_t ports = 2 * topology_.links.size() + topology_.vertices.size();
  use(flow, ports + 2 * index(flow.from), longest);
  use(flow, ports + 2 * index(flow.to) + 1, longest);
}

void Network::resolve(std::vector<Flow>& flows) {
  demands_.clear();
  uses_.clear();
  used_by_.clear();
  for (Flow& flow : flows) {
    const std::size_t before = uses_.size();
    use_all(flow);
    used_by_.push_back(static_cast<std::uint32_t>(uses_.size() - before));
  }
  for (std::size_t resource : used_) {
    serve(resources_[resource]);
    resources_[resource].first = -1;
  }
  used_.clear();
  std::size_t use = 0, number = 0;
  for (Flow& flow : flows) {
    for (std::uint32_t i = 0; i < used_by_[number]; ++i)
      flow.left = std::max(flow.left, demands_[uses_[use++]].share);
    ++number;
    flow.arrival += flow.left;
  }
}

// When each of the uses of one resource is through with it.
void Network::serve(Resource& resource) {
  sharing_.clear();
  double first = demands_[index(resource.first)].ready, work = 0;
  bool queued = false;
  for (int i = resource.first; i >= 0; i = demands_[index(i)].next) {
    Demand& demand = demands_[index(i)];
    first = std::min(first, demand.ready);
    work += demand.work * demand.count;
    // What is left at that time of the work before it, taken as spread evenly.
    if (demand.ready >= resource.begin && demand.ready < resource.end) {
      demand.ready +=
          resource.work * (resource.end - demand.ready) / (resource.end - resource.begin);
      queued = true;
    }
    sharing_.push_back(&demand);
  }
  resource.begin = queued ? std::min(resource.begin, first) : first;
  resource.work = queued ? resource.work + work : work;
  resource.end = share();
}

// Processor sharing: of k demands under way each advances at 1/k. Virtual time is the work that
// a demand has got which was there all along; each is through at its begin plus its work in it.
// Returns when the last one is through.
double Network::share() {
  if (sharing_.size() == 1) {
    Demand& only = *sharing_[0];
    return only.share = only.ready + only.work * only.count;
  }
  std::sort(sharing_.begin(), sharing_.end(),
            [](const Demand* a, const Demand* b) { return a->ready < b->ready; });
  double now = 0, served = 0;
  int under_way = 0;
  const auto serve_until = [&](double limit) {
    while (!due_.empty()) {
      Demand& next = *due_.top();
      const double when = now + (next.share - served) * under_way;
      if (when > limit) break;
      due_.pop();
      now = when, served = next.share;
      next.share = when;
      under_way -= next.count;
    }
    if (!due_.empty()) served += (limit - now) / under_way;
    if (limit < std::numeric_limits<double>::infinity()) now = limit;
  };
  for (Demand* demand : sharing_) {
    serve_until(demand->ready);
    demand->share = served + demand->work;
    under_way += demand->count;
    due_.push(demand);
  }
  serve_until(std::numeric_limits<double>::infinity());
  return now;
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
