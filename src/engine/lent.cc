#include "engine/lent.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace weft {

LentSlots::LentSlots() : here_(kSlots) { std::iota(here_.rbegin(), here_.rend(), std::uint8_t{0}); }

[[gnu::hot]] std::optional<std::size_t> LentSlots::next(std::size_t turn) const {
  if (here_.empty()) return std::nullopt;
  return here_[here_.size() - std::min(turn, here_.size())] * kStride;
}

[[gnu::hot]] void LentSlots::lend(std::size_t offset, int peer, int channel, std::uint64_t number,
                                  std::size_t bytes) {
  const auto slot = static_cast<std::uint8_t>(offset / kStride);
  const auto here = std::ranges::find(here_, slot);
  assert(here != here_.end());
  here_.erase(here);
  loans_[slot] = {true, peer, channel, number, bytes};
}

[[gnu::hot]] void LentSlots::come_back(std::size_t offset) {
  const std::size_t slot = offset / kStride;
  if (slot >= kSlots || !std::exchange(loans_[slot].away, false)) return;
  here_.push_back(static_cast<std::uint8_t>(slot));
}

bool LentSlots::read(Endpoint& endpoint) const {
  return std::ranges::all_of(loans_, [&](const Loan& loan) {
    return !loan.away || endpoint.settled(loan.peer, loan.channel, loan.number, loan.bytes) ||
           (endpoint.troubled() && !endpoint.lost(loan.peer).empty());
  });
}

bool LentSlots::recall(Endpoint& endpoint) {
  if (here_.size() == kSlots) return true;
  if (!endpoint.recall()) return false;
  for (std::size_t slot = 0; slot < kSlots; ++slot) come_back(slot * kStride);
  return true;
}

}  // namespace weft
