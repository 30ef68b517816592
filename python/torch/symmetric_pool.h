// Symmetric memory for tensors, kept for the next one.
//
// Making symmetric memory is expensive (a file, a mapping here and on every peer, a fault for each
// page), and FSDP allocates new buffers in every step. So blocks that come back are kept while
// a process group lives: in all at most twice the bytes that were in use at once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/communicator.h"

namespace weft::torch_adapter {

// One a process. Thread safe.
class SymmetricPool {
 public:
  // Memory that returns to its pool with its last reference. Uninitialized, page aligned.
  using Memory = std::shared_ptr<void>;

  // The pool of this process; a forked child gets one of its own.
  static SymmetricPool& instance();

  // A backend came, or left. With the last one everything kept goes; what is in use then goes
  // when it comes back.
  void enter();
  void leave();

  // At least `bytes` bytes. Throws Unsupported if the system has no more.
  Memory take(Fabric& fabric, std::size_t bytes);

  // After a failed collective, whose output may be symmetric memory no more: what is in use now or
  // kept is not given to anybody else.
  void distrust();

 private:
  struct Block {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  using Blocks = std::vector<Block>;

  // Under mutex_.
  Block take_kept(std::size_t bytes);
  Blocks surplus();

  void give_back(Block block, std::size_t era);

  std::mutex mutex_;
  Blocks kept_;  // in the order in which they came
  std::size_t kept_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_bytes_ = 0;
  std::size_t era_ = 0;  // counts distrust()
  int backends_ = 0;
};

}  // namespace weft::torch_adapter
