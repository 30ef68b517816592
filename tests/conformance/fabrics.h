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

  template <typename Each>
  void for_peers(Each each) const {
    for (int peer = 0; peer < size; ++peer) {
      if (peer != me) each(peer);
    }
  }
  Arrival await_message(int peer, int channel, std::uint64_t number) {
    Arrival arrival;
    await("message", [&] { return (arrival = lane->arrival(peer, channel, number)).header; });
    return arrival;
  }
  // Of a message of `peer` that is here.
  const std::byte* payload(int peer, const Arrival& arrival) const {
    return arrival.inlined ? arrival.inlined
                           : lane->reach(peer, arrival.header->input, arrival.header->bytes);
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
