#include "passes/cost/pricing.h"

#include <utility>

namespace weft::cost {

Pricing::Pricing(const Programs& programs, const Call& call, const Topology& topology,
                 Timeline* timeline)
    : TimeDomain(programs, call, topology, timeline), network_(topology, routes_) {}

void Pricing::carry(const Flow& flow, std::int32_t depth) {
  if (!latest_ || depth != latest_depth_) latest_ = &flows_[depth];
  latest_depth_ = depth;
  latest_->push_back(flow);
}

Price Pricing::run() {
  ready_all();
  run_ready();
  while (!flows_.empty()) {
    auto least = flows_.begin();
    std::vector<Flow> flows = std::move(least->second);
    flows_.erase(least);
    latest_ = nullptr;
    network_.resolve(flows);
    for (const Flow& flow : flows) arrive(flow);
    run_ready();
  }
  Price price = finish();
  price.busiest = network_.busiest(price.busy);
  return price;
}

}  // namespace weft::cost
