// What a port knows of one peer, and what it lends and borrows there.
#pragma once

#include <rdma/fabric.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

namespace weft::ofi {

class Port;
struct Op;

// Memory made known to libfabric. Thread safe.
class Registration {
 public:
  // Write: peers may write into it; else it is only sent from. Throws Unsupported.
  enum class Use { kSend, kWrite };
  Registration(std::shared_ptr<Port> port, std::byte* data, std::size_t bytes, Use use);
  ~Registration();
  Registration(const Registration&) = delete;

  void* descriptor() const;
  // What a peer must know to write there.
  std::uint64_t key() const;
  std::uint64_t base() const { return base_; }

 private:
  const std::shared_ptr<Port> port_;
  fid_mr* region_ = nullptr;
  std::uint64_t base_ = 0;
};

// A segment of this fabric that payloads are sent from. Whoever sends keeps it.
struct Source {
  std::uint32_t segment;
  std::byte* data;
  std::size_t bytes;
  std::shared_ptr<void> memory;          // keeps the bytes
  std::unique_ptr<Registration> region;  // where the provider asks for one
};

// A peer's copy of one of our segments.
struct Target {
  std::uint64_t base, key;
};

// Counts what an endpoint has sent and libfabric has not finished with, by peer.
struct Unsent {
  explicit Unsent(std::size_t peers) : by_peer(peers) {}
  std::atomic<int> all{0};
  std::deque<std::atomic<int>> by_peer;
};

// Everything here is under the port's lock.
struct Link {
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::map<std::uint32_t, Target> targets;  // by segment
  std::deque<Op*> pending;                  // not taken by libfabric yet, in order
  int in_flight = 0;                        // taken, and not finished
  std::uint64_t sent = 0;                   // packets and writes, ever
  bool broken = false;
};

}  // namespace weft::ofi
