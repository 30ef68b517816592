// The segments of one fabric: what it lends to its peers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mapping.h"
#include "fabric/pieces.h"
#include "fabric/process.h"

namespace weft {

struct Segment {
  MemoryUse use = MemoryUse::kUser;
  Piece memory;
  std::shared_ptr<Mapping> mapping;
};

// Thread safe.
class Segments final : public Forkable {
 public:
  // Throws InvalidArgument for more than 1 TiB, Unsupported if the system has no more.
  SymmetricBlock allocate(std::size_t bytes, MemoryUse use);
  // See Fabric::release, Fabric::isolate.
  void release(const SymmetricBlock& block);
  bool isolate(void* data, std::size_t bytes);
  // Null: never was, or released.
  std::shared_ptr<const Segment> find(std::uint32_t id) const;
  // See Fabric::locate. A repeated hit, a repeated miss and the absence of user segments
  // take no lock.
  Location locate(const void* data, std::size_t bytes) const;

  // Held across a fork, so that the child finds the table whole. Memory that the user allocated
  // then becomes the child's own. Like ordinary memory, it is copied page by page as the child
  // writes.
  void lock_for_fork() override { mutex_.lock(); }
  void unlock_after_fork() override { mutex_.unlock(); }
  void detach_in_child() override;

 private:
  struct Memo;
  struct UserRange {
    std::uintptr_t begin;
    std::uintptr_t end;
    Location where;
  };

  Memo look_up(std::uintptr_t place) const;
  void insert(const UserRange& range);
  void change_version();

  mutable std::mutex mutex_;
  Pieces pieces_;
  std::map<std::uint32_t, std::shared_ptr<const Segment>> segments_;
  std::vector<UserRange> ranges_;  // by address; a segment has several once some was isolated
  std::uint32_t last_ = 0;
  // Differs for any two states of any two tables; 0: no user segments.
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weft
