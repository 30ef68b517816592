#include "engine/lent.h"

#include <algorithm>
#include <numeric>

namespace weft {

LentSlots::LentSlots() : here_(kSlots) { std::iota(here_.rbegin(), here_.rend(), std::uint8_t{0}); }

std::optional<std::size_t> LentSlots::next() const {
  if (here_.empty()) return std::nullopt;
  return here_.back() * kStride;
}

void LentSlots::lend(int peer, int channel, std::uint64_t number, std::size_t bytes) {
  lent_.push_back({here_.back(), peer, channel, number, bytes});
  here_.pop_back();
}

void LentSlots::come_back(std::size_t offset) {
  const auto slot = static_cast<std::uint8_t>(offset / kStride);
  const auto loan = std::ranges::find(lent_, slot, &Loan::slot);
  if (loan == lent_.end()) return;
  lent_.erase(loan);
  here_.push_back(slot);
}

bool LentSlots::read(Endpoint& endpoint) const {
  return std::ranges::all_of(lent_, [&](const Loan& loan) {
    return endpoint.settled(loan.peer, loan.channel, loan.number, loan.bytes) ||
           (endpoint.troubled() && !endpoint.lost(loan.peer).empty());
  });
}

bool LentSlots::recall(Endpoint& endpoint) {
  if (lent_.empty()) return true;
  if (!endpoint.recall()) return false;
  for (const Loan& loan : lent_) here_.push_back(loan.slot);
  lent_.clear();
  return true;
}

}  // namespace weft
