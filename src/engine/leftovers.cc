// Messages that a lane has received and for which no call has waited.
#include "engine/lane.h"
#include "weft/error.h"

namespace weft {

// A plan leaves nothing unreceived of the collectives that have ended. A peer may be ahead, though.
void Lane::check_leftovers() {
  if (fate_->ended() || !try_own_idle()) return;
  Release at_end{this};
  for (int peer = 0; peer < members_; ++peer) {
    for (int channel = 0; peer != me_ && channel < kMaxChannels; ++channel) {
      const Header* const next =
          endpoint_->arrival(peer, channel, state_.traffic(peer, channel).waited);
      if (!next) continue;
      const Signature& theirs = next->signature;
      const auto last = static_cast<std::uint32_t>(sequence());
      if (static_cast<std::int32_t>(theirs.sequence - last) > 0) continue;
      const std::string text = "rank " + std::to_string(peer) + " called " + describe(theirs) +
                               ", of which rank " + std::to_string(me_) +
                               " has received nothing: all ranks must make the same calls in the "
                               "same order, with the same root";
      fate_->end(text);
      throw Mismatch(text);
    }
  }
}

}  // namespace weft
