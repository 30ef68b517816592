// Pieces of shared memory, several of a file: each file takes a descriptor.
#pragma once

#include <cstddef>
#include <memory>

#include "base/unique_fd.h"

namespace weft {

struct Piece {
  std::shared_ptr<const UniqueFd> file;  // see make_memory()
  std::size_t offset = 0;
};

// Cuts pieces out of a file one after another, and makes the next file when it is used up. No place
// is used twice, so that a late peer finds what it knows. A file goes with the last of its pieces.
// One thread at a time.
class Pieces {
 public:
  // `bytes` in whole pages, zeroed. A large piece has a file of its own. Throws Unsupported.
  Piece take(std::size_t bytes);

 private:
  // Some groups' mailboxes and slots: what a single one of them can keep from the system.
  static constexpr std::size_t kFile = std::size_t{32} << 20;
  static constexpr std::size_t kLarge = kFile / 4;

  std::weak_ptr<const UniqueFd> file_;
  std::size_t used_ = 0;
};

}  // namespace weft
