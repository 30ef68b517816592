// The fabrics that the conformance suite runs over, and ranks that share a lane of one.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/inprocess/inprocess_fabric.h"
#include "weft/communicator.h"
#include "weft/store.h"

namespace weft::testing {

struct FabricKind {
  std::string name;
  std::function<std::shared_ptr<Fabric>()> make;
};

// A new fabric is one line here.
inline const std::vector<FabricKind>& fabric_kinds() {
  static const std::vector<FabricKind> kinds = {
      {"shm", make_shm_fabric},
      {"inprocess", make_inprocess_fabric},
#if WEFT_OFI
      {"ofi", make_ofi_fabric},
      // Ranks in turn on two nodes, as far as their fabrics know.
      {"shm_ofi",
       [] {
         static std::atomic<int> made{0};
         return make_spanning_fabric(made.fetch_add(1) % 2 == 0 ? "even" : "odd");
       }},
#endif
  };
  return kinds;
}

// A message to one reader, as it stands in a slot or is copied when it is posted.
inline void post(Endpoint& lane, int peer, int channel, std::uint64_t number,
                 const Signature& signature, const void* payload, std::size_t bytes,
                 Location slot = {}) {
  Reader reader{.peer = peer, .number = number};
  auto* const source = static_cast<std::byte*>(const_cast<void*>(payload));  // it is only read
  Slot filled{source, slot, true};
  lane.post({.readers = {&reader, 1},
             .channel = channel,
             .signature = signature,
             .source = source,
             .bytes = bytes,
             .slot = &filled});
}

// No wait of a test lasts longer.
inline Clock::time_point patience() { return Clock::now() + std::chrono::seconds(30); }

// Waits until `done()`, giving the core to others meanwhile.
template <typename Done>
void await(const std::string& what, Done done) {
  for (const auto deadline = patience(); !done(); std::this_thread::yield()) {
    if (Clock::now() > deadline) throw std::runtime_error("never came: " + what);
  }
}

// One rank's end of a lane.
struct LaneRank {
  int me;
  int size;
  std::shared_ptr<Fabric> fabric;
  std::unique_ptr<Endpoint> lane;
  Store& store;
  std::vector<std::string> locations{};

  template <typename Each>
  void for_peers(Each each) const {
    for (int peer = 0; peer < size; ++peer) {
      if (peer != me) each(peer);
    }
  }
  const Header& await_message(int peer, int channel, std::uint64_t number) {
    const Header* header = nullptr;
    await("message", [&] { return (header = lane->arrival(peer, channel, number)) != nullptr; });
    return *header;
  }
  // Of message `number` of `peer`, as soon as it is here.
  Delivery await_payload(int peer, int channel, std::uint64_t number, const Buffers& mine = {}) {
    (void)await_message(peer, channel, number);
    return lane->payload(peer, channel, number, mine);
  }
  bool loads(int peer) const { return lane->about(peer).loads; }
  // Until the place of a payload is this rank's again.
  void await_settled(int peer, int channel, std::uint64_t number, std::size_t bytes) {
    await("memory", [&] { return lane->settled(peer, channel, number, bytes); });
  }
  // All ranks tell where a piece of their memory lies; location() then knows.
  void exchange_location(Location mine) {
    locations = exchange("location", std::to_string(mine.bits));
  }
  Location location(int peer) const {
    return {std::stoull(locations[static_cast<std::size_t>(peer)])};
  }
  // All ranks meet here. Goes through the store: it tests nothing of the lane.
  void meet(const std::string& where) { exchange("meet " + where, ""); }
  std::vector<std::string> exchange(const std::string& what, const std::string& mine) {
    store.set(what + std::to_string(me), mine);
    std::vector<std::string> all;
    for (int rank = 0; rank < size; ++rank) {
      all.push_back(store.get(what + std::to_string(rank), std::chrono::seconds(30)));
    }
    return all;
  }
};

// Joins a lane named `name` of `size` ranks through `store`.
inline LaneRank join_lane(std::shared_ptr<Fabric> fabric, Store& store, int me, int size,
                          const std::string& name = "lane") {
  LaneRank rank{me, size, std::move(fabric), nullptr, store};
  rank.lane =
      rank.fabric->open(rank.exchange(name + " address", rank.fabric->address()), me, patience());
  rank.lane->connect(rank.exchange(name + " ticket", rank.lane->ticket()), patience());
  return rank;
}

// Runs `body` on `size` ranks, each a thread with a fabric of its own. Rethrows the first error.
inline void run_lane(const FabricKind& kind, int size, const std::function<void(LaneRank&)>& body) {
  const auto store = memory_store();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int me = 0; me < size; ++me) {
    threads.emplace_back([&, me] {
      try {
        LaneRank rank = join_lane(kind.make(), *store, me, size);
        body(rank);
        rank.meet("end");  // nobody leaves while another still looks
      } catch (...) {
        errors[static_cast<std::size_t>(me)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace weft::testing
