// The fabric's own function, of which a plan knows nothing: it is neither proved nor priced.
//
// One step over whole buffers. It runs only if it is asked for by name, on a fabric that has such a
// function (src/fabric/natives.h).
#include "algorithms/registry.h"
#include "weft/builder.h"
#include "weft/collective.h"

namespace weft {
namespace {

void write_native(Builder& b) {
  const CollectiveTraits& traits = traits_of(b.shape().collective);
  if (traits.rooted()) (void)b.param("root", 0);
  if (traits.exchanges()) b.in_place();  // it reads a copy of its input
  b.once([&] { b.native(); });
}

}  // namespace

Algorithm native(Collective collective) {
  return {std::string(name_of(collective)) + "/native", collective,
          "the fabric's own function, neither proved nor priced", write_native};
}

}  // namespace weft
