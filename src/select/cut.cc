#include "select/cut.h"

#include <algorithm>
#include <cstdint>

#include "select/chunk.h"
#include "weft/collective.h"

namespace weft {
namespace {

// Blocks that the collective fixes are equal, others have their bounds on cache lines.
cost::Cut cut(const cost::Programs& programs, std::size_t bytes, const PriceOptions& options) {
  const PlanShape& shape = programs.shape();
  const std::size_t element = size_of(options.dtype);
  const std::size_t count = bytes / element + (bytes % element != 0);
  const std::size_t unit = std::max<std::size_t>(1, 64 / element);
  const bool fixed = traits_of(shape.collective).input.cutting != Cutting::kFree;
  const auto most =
      static_cast<std::size_t>(std::max({shape.input_blocks, shape.output_blocks, 1}));
  const std::size_t block = count / most + (count % most != 0);
  const auto side = [&](int blocks) {
    if (fixed) return Partition::uniform(block, blocks);
    return programs.folded() ? Partition::uniform((count + static_cast<std::size_t>(blocks) - 1) /
                                                      static_cast<std::size_t>(blocks),
                                                  blocks)
                             : Partition::even(count, blocks, unit);
  };
  cost::Cut cut{side(shape.input_blocks), side(shape.output_blocks), 1};
  const std::size_t largest = fixed || shape.output_blocks == 0 ? 0 : cut.output.size(0, 1);
  const std::size_t arena = options.slot_bytes > 0 ? options.slot_bytes : SIZE_MAX;
  cut.chunk = options.chunk > 0 && options.slot_bytes == 0
                  ? std::max<std::size_t>(1, options.chunk / element)
                  : chunk_elements(shape, largest, element, size_of(accumulator_of(options.dtype)),
                                   arena, {.asked = options.chunk});
  return cut;
}

}  // namespace

cost::Call call_of(const cost::Programs& programs, std::size_t bytes, const PriceOptions& options) {
  const PlanShape& shape = programs.shape();
  cost::Call call;
  call.cut = cut(programs, bytes, options);
  call.element = static_cast<double>(size_of(options.dtype));
  call.accumulator = static_cast<double>(size_of(accumulator_of(options.dtype)));
  call.wire = static_cast<double>(size_of(wire_of(options.dtype)));
  call.symmetric = options.symmetric;
  call.in_place = options.in_place && traits_of(shape.collective).in_one_buffer();
  const auto input = static_cast<double>(call.cut.input.total());
  const auto output = static_cast<double>(call.cut.output.total());
  call.buffers = (call.in_place ? std::max(input, output) : input + output) * call.element;
  return call;
}

}  // namespace weft
