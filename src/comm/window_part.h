// One rank's part of a window, as it lies in symmetric memory.
//
//   signals, 8 bytes each | a byte for each rank: it has left | data, from the next page
//
// The data of a window over memory of the user lies there instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fabric/fabric.h"
#include "weft/window.h"

namespace weft {

// What peers know of a rank's part.
struct WindowShape {
  std::size_t bytes = 0;
  int signals = 0;
  int ranks = 0;

  std::size_t data_offset() const {
    constexpr std::size_t page = 4096;
    const std::size_t head =
        static_cast<std::size_t>(signals) * sizeof(std::uint64_t) + static_cast<std::size_t>(ranks);
    return (head + page - 1) / page * page;
  }
  std::size_t total() const { return data_offset() + bytes; }
};

class WindowPart {
 public:
  WindowPart() = default;
  WindowPart(std::byte* begin, std::byte* data, const WindowShape& shape)
      : begin_(begin), data_(data), shape_(shape) {}

  explicit operator bool() const { return begin_ != nullptr; }
  const WindowShape& shape() const { return shape_; }
  std::byte* data() const { return data_; }

  std::atomic_ref<std::uint64_t> signal(int number) const {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(begin_)[number]);
  }
  // The lowest of `count` signals from `first` on that is not zero; -1: all are. The caller has
  // checked the range.
  int first_set(int first, int count) const {
    // acquire: pairs with apply().
    for (int i = first; i < first + count; ++i)
      if (signal(i).load(std::memory_order_acquire)) return i;
    return -1;
  }
  // release: who sees the new value sees what was put before.
  void apply(const SignalUpdate& update) const {
    if (update.op == SignalOp::kSet)
      signal(update.signal).store(update.value, std::memory_order_release);
    else
      signal(update.signal).fetch_add(update.value, std::memory_order_release);
  }

  // Whether `rank` has left: it signals no more, and takes no puts.
  bool left(int rank) const { return left_of(rank).load(std::memory_order_acquire) != 0; }
  // release: what it put before goes first.
  void leave(int rank) const { left_of(rank).store(1, std::memory_order_release); }

 private:
  std::atomic_ref<std::uint8_t> left_of(int rank) const {
    auto* const after = reinterpret_cast<std::uint8_t*>(
        begin_ + static_cast<std::size_t>(shape_.signals) * sizeof(std::uint64_t));
    return std::atomic_ref(after[rank]);
  }

  std::byte* begin_ = nullptr;
  std::byte* data_ = nullptr;
  WindowShape shape_;
};

// The memory of this rank's part.
class WindowMemory {
 public:
  WindowMemory(std::shared_ptr<Fabric> fabric, std::size_t bytes)
      : fabric_(std::move(fabric)), block_(fabric_->allocate(bytes)) {}
  ~WindowMemory() { fabric_->release(block_); }
  WindowMemory(const WindowMemory&) = delete;

  std::byte* data() const { return block_.data; }
  Location where() const { return block_.where; }

 private:
  const std::shared_ptr<Fabric> fabric_;
  const SymmetricBlock block_;
};

}  // namespace weft
