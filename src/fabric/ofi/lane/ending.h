// How a lane ends before its time: by an abort, from here or from a member.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/ofi/session/remote.h"

namespace weft::ofi {

// Aborts come by the peers' connections and could overtake messages that were sent before them. So
// an abort counts when these messages are here, and a collective that has all it needs finishes.
// Thread safe.
class Ending {
 public:
  // 1 once there is something to look at: an abort, or a lost peer.
  std::atomic<std::uint32_t>& trouble() { return trouble_; }

  // The lane ends here and now. False: it had ended before.
  bool end(const std::string& why);
  // A member ends it, after it has sent `sent` packets and writes. Counts when they are here, when
  // the member is lost, or after kPatience, whichever is first.
  void hear(std::shared_ptr<const Remote> from, std::uint64_t sent, const std::string& why);
  // What members had sent is not to be had any more: the aborts that were heard count at once.
  void count_all();
  // The first cause; empty: it goes on.
  std::string why();

 private:
  static constexpr std::chrono::seconds kPatience{1};
  struct Heard {
    std::shared_ptr<const Remote> from;
    std::uint64_t sent;
    Clock::time_point latest;
    std::string why;
    bool counts() const { return from->has_arrived(sent) || Clock::now() >= latest; }
  };
  bool ended_locked();

  std::atomic<std::uint32_t> trouble_{0};
  std::mutex mutex_;  // the rest
  bool ended_ = false;
  std::string why_;
  std::vector<Heard> heard_;  // aborts that do not count yet
};

}  // namespace weft::ofi
