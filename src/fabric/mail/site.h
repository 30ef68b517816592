// What the lanes of one rank share: the lines, the lock around the library, the bell.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/bell.h"
#include "fabric/mail/lane.h"
#include "fabric/mail/looker.h"

namespace weft::mail {

// Thread safe.
class Site {
 public:
  explicit Site(std::unique_ptr<Lines> its) : lines(std::move(its)), mutex(lines->mutex) {}
  ~Site();

  // Throws Unsupported if too many lanes are open.
  std::shared_ptr<Lane> open(std::vector<int> ranks, int me);
  // The lane's user is gone. Its peers hear of it; it is kept until they have left as well. With
  // the last open lane it waits for that, for up to a second.
  void close(std::shared_ptr<Lane> lane);
  // Whether anything had come for any lane.
  bool progress();

  // See FarFabric. Payloads are sent from slots in such memory.
  void adopt(const SymmetricBlock& block, std::shared_ptr<const void> memory);
  void disown(const SymmetricBlock& block);
  // Keeps the memory around `data`. Null: it was not adopted. REQUIRES the lock.
  std::shared_ptr<const void> keeper(const std::byte* data) const;

  // The bell. Neither MPI nor OpenSHMEM rings one: a thread that sleeps here looks for mail every
  // 50 us, and so does the looker for a thread that sleeps at another fabric's bell.
  std::uint32_t announce();
  void sleep(std::uint32_t announced);
  void retire();
  void ring() { bell_.ring(); }
  void expect_crowd() { bell_.expect_crowd(); }
  void forward_rings(std::function<void()> instead);

  const std::unique_ptr<Lines> lines;
  std::mutex& mutex;  // the lines': of the library, and of all lanes
  // The library's own collectives that have not ended: a thread that sleeps returns to test them.
  std::atomic<int> natives_under_way{0};

 private:
  struct Closed {
    std::shared_ptr<Lane> lane;
    Clock::time_point until;  // nobody waits longer for its peers
  };

  void stay_until_peers_leave();
  void drop_those_that_are_over();

  std::vector<std::shared_ptr<Lane>> lanes_;  // all
  std::vector<Closed> closed_;                // of these
  std::map<const std::byte*, std::pair<std::size_t, std::shared_ptr<const void>>> memory_;
  Bell bell_;
  std::unique_ptr<Looker> looker_;
};

}  // namespace weft::mail
