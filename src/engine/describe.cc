#include "engine/binding.h"

namespace weft {

std::string describe(const Signature& signature) {
  auto collective = static_cast<Collective>(signature.collective);
  std::string text(name_of(collective));
  if (collective == Collective::kBarrier) return text + " #" + std::to_string(signature.sequence);
  bool reduces = collective == Collective::kAllreduce || collective == Collective::kReduce ||
                 collective == Collective::kReduceScatter;
  bool rooted = collective == Collective::kBroadcast || collective == Collective::kReduce ||
                collective == Collective::kGather || collective == Collective::kScatter;
  if (reduces) text += " " + std::string(name_of(static_cast<ReduceOp>(signature.op)));
  text += " of " + std::to_string(signature.count) + " " +
          std::string(name_of(static_cast<DType>(signature.dtype)));
  if (rooted) text += " with root " + std::to_string(signature.root);
  return text + " #" + std::to_string(signature.sequence);
}

}  // namespace weft
