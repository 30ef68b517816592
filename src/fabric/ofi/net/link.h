// A port's knowledge of one peer, and the memory that they lend each other.
#pragma once

#include <rdma/fi_domain.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/ofi/net/handle.h"

namespace weft::ofi {

class Port;
struct Op;

// Endpoints of a port.
inline constexpr std::size_t kMostRails = 8;

// The keys that a peer needs to write somewhere.
using Keys = std::array<std::uint64_t, kMostRails>;
struct Target {
  std::uint64_t base = 0;
  Keys keys{};  // by rail
};
// As bytes of a message. Missing keys are 0; further ones are ignored.
std::string text_of(const Keys& keys);
Keys keys_of(const std::string& text);

// Memory made known to libfabric, on each rail. Thread safe.
class Registration {
 public:
  // Write: peers may write into it; else it is only sent from. Throws Unsupported.
  enum class Use { kSend, kWrite };
  // `key`: of a port that delivers(), the caller's; 0: any.
  Registration(std::shared_ptr<Port> port, std::byte* data, std::size_t bytes, Use use,
               std::uint64_t key = 0);
  ~Registration();
  Registration(const Registration&) = delete;

  void* descriptor(std::size_t rail) const;
  const Target& target() const { return target_; }

 private:
  const std::shared_ptr<Port> port_;
  std::vector<Handle<fid_mr>> regions_;  // by rail
  Target target_;
};

// A segment of this fabric that payloads are sent from. Every operation that sends from it keeps
// it.
struct Source {
  std::uint32_t segment;
  std::byte* data;
  std::size_t bytes;
  std::shared_ptr<void> memory;          // keeps the bytes
  std::unique_ptr<Registration> region;  // where the provider asks for one
};

// Bytes of a source or, without one, of the caller's memory, which a seal follows.
struct Payload {
  std::shared_ptr<const Source> source;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// Counts what an endpoint has sent and libfabric has not finished with, by peer.
struct Unsent {
  explicit Unsent(std::size_t peers) : by_peer(peers) {}
  std::atomic<int> all{0};
  std::deque<std::atomic<int>> by_peer;
};

// On whose account something is sent; may be nobody's.
struct Account {
  std::shared_ptr<Unsent> unsent;
  std::size_t peer = 0;
};

// What goes to a peer by one rail: from our rail to the peer's rail of the same number.
struct RailQueue {
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::deque<Op*> pending;    // not taken by libfabric yet, in order
  std::size_t under_way = 0;  // bytes that are pending or not finished
  std::uint64_t given = 0;    // bytes, ever
};

// Everything here is under the port's lock.
struct Link {
  std::vector<RailQueue> queues;            // by rail
  std::map<std::uint32_t, Target> targets;  // the peer's copies of our segments
  int unfinished = 0;                       // operations that are pending or that libfabric has
  std::uint64_t sent = 0;                   // packets and writes, ever
  bool broken = false;
};

}  // namespace weft::ofi
