// Groups that come from others.
#include <algorithm>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "process_group.h"

namespace weft::torch_adapter {

c10::intrusive_ptr<c10d::Backend> ProcessGroupWeft::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<Options>& options) {
  const auto me = std::find(ranks.begin(), ranks.end(), rank_);
  if (me == ranks.end()) return nullptr;
  return c10::make_intrusive<ProcessGroupWeft>(store, static_cast<int>(me - ranks.begin()),
                                               static_cast<int>(ranks.size()),
                                               options ? options : options_);
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupWeft::merge(
    const c10::intrusive_ptr<c10d::Store>& store, const c10::intrusive_ptr<Options>& options,
    const int& rank, const int& size) {
  return c10::make_intrusive<ProcessGroupWeft>(store, rank, size, options ? options : options_);
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupWeft::shrink(
    const std::vector<std::int64_t>& excluded, int flags,
    const c10::intrusive_ptr<Options>& options) {
  constexpr Operation kShrink{c10d::OpType::UNKNOWN, "weft:shrink"};
  constexpr int kAbort = 1;  // torch.distributed.SHRINK_ABORT
  const std::set<std::int64_t> out(excluded.begin(), excluded.end());
  if (out.count(rank_)) refuse(site(kShrink), "this rank is among those to be excluded");
  int rank = 0, size = 0;
  std::string name = "without";
  for (int peer = 0; peer < size_; ++peer) {
    if (out.count(peer)) {
      name += " " + std::to_string(peer);
      continue;
    }
    if (peer < rank_) ++rank;
    ++size;
  }
  if (flags & kAbort) abort();
  auto store = c10::make_intrusive<c10d::PrefixStore>("weft " + name, store_);
  auto with = c10::make_intrusive<Options>(options ? *options : *options_);
  if (with->group_name == options_->group_name) with->group_name += " " + name;
  return c10::make_intrusive<ProcessGroupWeft>(std::move(store), rank, size, std::move(with));
}

}  // namespace weft::torch_adapter
