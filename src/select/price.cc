#include "weft/price.h"

#include <utility>

#include "passes/cost/pricing.h"
#include "select/cut.h"
#include "weft/fit.h"
#include "weft/registry.h"

namespace weft {
namespace {

Price run(const cost::Programs& programs, std::size_t bytes, const Topology& topology,
          const PriceOptions& options) {
  const cost::Call call = call_of(programs, bytes, options);
  Price price = cost::Pricing(programs, call, topology).run();
  price.chunk = call.cut.chunk * size_of(options.dtype);
  return price;
}

}  // namespace

Price price(std::string_view algorithm, int ranks, std::size_t bytes, const Topology& topology,
            const Params& params, const PriceOptions& options) {
  check(topology, ranks);
  const Algorithm found = find_algorithm(algorithm);
  Params fitted = fit(found, ranks, params, topology), all = params;
  all.insert(fitted.begin(), fitted.end());
  PriceOptions cut = options;
  if (cut.chunk == 0) cut.chunk = found.chunk;
  Price price = run(cost::Programs(found, ranks, all), bytes, topology, cut);
  price.fitted = std::move(fitted);
  return price;
}

Timeline timeline(const Plan& plan, std::size_t bytes, const Topology& topology,
                  const PriceOptions& options) {
  check(topology, plan.shape.ranks);
  const cost::Programs programs(plan);
  const cost::Call call = call_of(programs, bytes, options);
  Timeline timeline;
  timeline.price = cost::Pricing(programs, call, topology, &timeline).run();
  timeline.price.chunk = call.cut.chunk * size_of(options.dtype);
  return timeline;
}

Price price(const Plan& plan, std::size_t bytes, const Topology& topology,
            const PriceOptions& options) {
  check(topology, plan.shape.ranks);
  return run(cost::Programs(plan), bytes, topology, options);
}

}  // namespace weft
