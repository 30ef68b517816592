// Messages and shared memory between ranks without plans: what measurements are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "weft/communicator.h"

namespace weft::measuring {

// A lane of its own among the ranks of a communicator, and a piece of symmetric memory on each.
// All ranks make and use it in the same order; one thread of each.
class Probe {
 public:
  // `bytes` of memory that peers can read, on each rank. Throws what the communicator throws.
  Probe(Communicator& communicator, std::size_t bytes);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }
  Communicator& communicator() { return communicator_; }

  std::byte* own() { return block_.data; }
  // Null: this rank does not load the peer's memory.
  const std::byte* of(int peer) const { return reached_[static_cast<std::size_t>(peer)]; }

  // A number of each rank, added up. Collective.
  double sum(double mine);
  // Tells all ranks something short; by rank, what they say.
  std::vector<std::string> exchange(const std::string& mine);

  // An empty message. Its receiver takes messages of a peer in order. To itself a rank sends none.
  void send(int peer);
  // A message with `bytes` bytes of the own memory, which must not change until they are credited.
  void send(int peer, std::size_t offset, std::size_t bytes);
  // Waits for the next one. Throws PeerLost, Timeout.
  void wait(int peer);
  // Returns the latest one that was waited for.
  void credit(int peer);
  void take(int peer) {
    wait(peer);
    credit(peer);
  }
  // Until all ranks are here.
  void meet();
  // Waits until the peer has taken all but `most` of the messages sent to it.
  void await_taken(int peer, std::uint64_t most);

 private:
  void spin(int peer, const std::function<bool()>& ready);

  Communicator& communicator_;
  std::unique_ptr<Endpoint> endpoint_;
  SymmetricBlock block_;
  std::vector<const std::byte*> reached_;
  std::vector<std::uint64_t> sent_, taken_;
};

}  // namespace weft::measuring
