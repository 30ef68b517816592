#include "weft/price.h"

#include <algorithm>
#include <utility>

#include "passes/cost/machine.h"
#include "plan/check.h"
#include "select/chunk.h"
#include "weft/fit.h"

namespace weft {
namespace {

// As a communicator cuts the call: blocks that the collective fixes are equal, others have their
// bounds on cache lines.
cost::Cut cut(const PlanShape& shape, std::size_t bytes, const PriceOptions& options) {
  const std::size_t element = size_of(options.dtype);
  const std::size_t count = bytes / element + (bytes % element != 0);
  const std::size_t unit = std::max<std::size_t>(1, 64 / element);
  const bool fixed = fixed_blocks(shape.collective, shape.ranks).input >= 0;
  const auto most =
      static_cast<std::size_t>(std::max({shape.input_blocks, shape.output_blocks, 1}));
  const std::size_t block = count / most + (count % most != 0);
  const auto side = [&](int blocks) {
    return fixed ? Partition::uniform(block, blocks) : Partition::even(count, blocks, unit);
  };
  cost::Cut cut{side(shape.input_blocks), side(shape.output_blocks), 1};
  // No arena: memory for slots is no limit on a cluster that is only imagined.
  const std::size_t largest = fixed || shape.output_blocks == 0 ? 0 : cut.output.size(0, 1);
  cut.chunk = options.chunk > 0
                  ? std::max<std::size_t>(1, options.chunk / element)
                  : chunk_elements(shape, largest, element, size_of(accumulator_of(options.dtype)),
                                   SIZE_MAX, {});
  return cut;
}

Price run(const cost::Programs& programs, std::size_t bytes, const Topology& topology,
          const PriceOptions& options) {
  const PlanShape& shape = programs.shape();
  cost::Call call;
  call.cut = cut(shape, bytes, options);
  call.element = static_cast<double>(size_of(options.dtype));
  call.accumulator = static_cast<double>(size_of(accumulator_of(options.dtype)));
  call.symmetric = options.symmetric;
  call.in_place = options.in_place && (shape.collective == Collective::kAllreduce ||
                                       shape.collective == Collective::kBroadcast);
  Price price = cost::Machine(programs, call, topology).run();
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

Price price(const Plan& plan, std::size_t bytes, const Topology& topology,
            const PriceOptions& options) {
  check(topology, plan.shape.ranks);
  return run(cost::Programs(plan), bytes, topology, options);
}

}  // namespace weft
