// The memory of payloads: segments of this fabric to send from, and mirrors of a peer's segments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "fabric/fabric.h"
#include "fabric/ofi/net/link.h"

namespace weft::ofi {

// The segments that payloads may lie in. Thread safe.
class Sources {
 public:
  explicit Sources(std::shared_ptr<Port> port) : port_(std::move(port)) {}

  // `memory` keeps the block's bytes until nothing is sent from them any more.
  void adopt(const SymmetricBlock& block, std::shared_ptr<void> memory);
  // Throws InvalidArgument if it is not here.
  void drop(const SymmetricBlock& block);
  // Null: not here.
  std::shared_ptr<const Source> find(std::uint32_t segment) const;

 private:
  const std::shared_ptr<Port> port_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const Source>> sources_;
};

// A copy of a peer's segment: holds what the peer has written there, and only that takes memory.
class Mirror {
 public:
  // Throws Unsupported.
  Mirror(const std::shared_ptr<Port>& port, std::size_t bytes);

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  const Target& target() const { return region_.target(); }

  // The peer will not write there again.
  void mark_gone() { gone_.store(true, std::memory_order_relaxed); }
  // relaxed: it says when to unmap, and orders no data.
  bool gone() const { return gone_.load(std::memory_order_relaxed); }

 private:
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* data) const;
  };
  static std::unique_ptr<std::byte, Unmap> map(std::size_t bytes);

  const std::size_t bytes_;
  const std::unique_ptr<std::byte, Unmap> data_;
  const Registration region_;  // goes before the memory
  std::atomic<bool> gone_{false};
};

// The copies of one peer's segments. Thread safe.
class Mirrors {
 public:
  explicit Mirrors(std::shared_ptr<Port> port) : port_(std::move(port)) {}

  // The one that there is, or a new one. Throws Unsupported.
  std::shared_ptr<Mirror> make(std::uint32_t segment, std::size_t bytes);
  void drop(std::uint32_t segment);
  // Null: not here.
  std::shared_ptr<Mirror> find(std::uint32_t segment) const;

 private:
  const std::shared_ptr<Port> port_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<Mirror>> mirrors_;
};

}  // namespace weft::ofi
