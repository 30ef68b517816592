// The fabrics that the conformance suite runs over, and ranks that share a lane of one.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "support/ranks.h"
#include "weft/error.h"
#include "weft/store.h"

namespace weft::testing {

struct FabricKind {
  std::string name;
  std::function<std::shared_ptr<Fabric>()> make;
  // It does nothing for a rank that makes no call, has no connections that break, and stays with
  // the process: MPI, OpenSHMEM.
  bool quiet = false;
};
inline void PrintTo(const FabricKind& kind, std::ostream* out) { *out << kind.name; }

// Those that the ranks of this binary use: threads.cc, tests/ranks.
const std::vector<FabricKind>& fabric_kinds();

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
  bool quiet = false;  // its fabric is
  std::vector<std::string> locations{};

  void join(const std::string& name) {
    lane = fabric->open(exchange(name + " address", fabric->address()), me, patience());
    lane->connect(exchange(name + " ticket", lane->ticket()), patience());
  }
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
  // Whether a rank that waits for a message is told that there is trouble.
  bool hears_of_trouble() {
    for_peers([&](int peer) { (void)lane->arrival(peer, kMaxChannels - 1, 0); });
    return lane->troubled();
  }
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
  // exchange(), while the lane goes on: what peers wait for leaves this rank.
  std::vector<std::string> exchange_and_drive(const std::string& what, const std::string& mine) {
    store.set(what + std::to_string(me), mine);
    std::vector<std::string> all;
    await(what, [&] {
      (void)lane->end(Outcome::kDone);
      const auto next = what + std::to_string(all.size());
      try {
        all.push_back(store.get(next, std::chrono::milliseconds(5)));
      } catch (const Timeout&) {
      }
      return static_cast<int>(all.size()) == size;
    });
    return all;
  }
  // All ranks meet here. Goes through the store: it tests nothing of the lane.
  void meet(const std::string& where) { exchange("meet " + where, ""); }
  // A quiet fabric sends what waits in this rank only while the lane goes on.
  std::vector<std::string> exchange(const std::string& what, const std::string& mine) {
    if (quiet && lane) return exchange_and_drive(what, mine);
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
  rank.join(name);
  return rank;
}

// Runs `body` on `size` ranks, each with a fabric of its own and no lane yet. Rethrows the first
// error.
inline void run_fabrics(const FabricKind& kind, int size,
                        const std::function<void(LaneRank&)>& body) {
  rethrow_first(each_rank(size, [&](int me, const std::shared_ptr<Store>& store) {
    LaneRank rank{me, size, kind.make(), nullptr, *store, kind.quiet};
    body(rank);
    rank.meet("end");  // nobody leaves while another still looks
  }));
}

// The same, with a lane that all have joined.
inline void run_lane(const FabricKind& kind, int size, const std::function<void(LaneRank&)>& body) {
  run_fabrics(kind, size, [&](LaneRank& rank) {
    rank.join("lane");
    body(rank);
  });
}

}  // namespace weft::testing
