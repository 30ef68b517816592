#include <algorithm>
#include <sstream>
#include <vector>

#include "engine/binding.h"

#include "weft/collective.h"

namespace weft {

std::string describe(const Signature& signature) {
  const CollectiveTraits& traits = traits_of(static_cast<Collective>(signature.collective));
  std::string text(traits.name);
  if (!traits.moves_data()) return text + " #" + std::to_string(signature.sequence);
  if (traits.reduces) text += " " + std::string(name_of(static_cast<ReduceOp>(signature.op)));
  text += " of " + std::to_string(signature.count) + " " +
          std::string(name_of(static_cast<DType>(signature.dtype)));
  if (traits.rooted()) text += " with root " + std::to_string(signature.root);
  return text + " #" + std::to_string(signature.sequence);
}

namespace {

bool differ(const Partition& part, int blocks) {
  for (int block = 1; block < blocks; ++block)
    if (part.size(block, 1) != part.size(0, 1)) return true;
  return false;
}

std::string counts(const char* name, const Partition& part, int blocks) {
  constexpr int kShown = 8;
  std::string text = name;
  for (int block = 0; block < std::min(blocks, kShown); ++block)
    text += (block ? ", " : " ") + std::to_string(part.size(block, 1));
  return blocks > kShown ? text + ", ..." : text;
}

}  // namespace

std::string details(const Binding& binding) {
  std::vector<std::string> parts;
  if (binding.signature.op == static_cast<std::uint8_t>(ReduceOp::kPremulSum)) {
    std::ostringstream scale;
    scale << "scale " << binding.scale;
    parts.push_back(scale.str());
  }
  const PlanShape& shape = binding.plan->shape;
  const Partition &in = binding.parts[0], &out = binding.parts[1];
  const bool split = differ(in, shape.input_blocks) || differ(out, shape.output_blocks);
  if (binding.count_by_pair && split) {
    if (shape.input_blocks > 1) parts.push_back(counts("input_counts", in, shape.input_blocks));
    if (shape.output_blocks > 1) parts.push_back(counts("output_counts", out, shape.output_blocks));
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? " (" : ", ") + part;
  return text.empty() ? text : text + ")";
}

std::string describe(const Binding& binding) {
  Signature signature = binding.signature;
  if (binding.count_by_pair && signature.count == 0) signature.count = binding.parts[0].total();
  return describe(signature) + details(binding);
}

}  // namespace weft
