// A lane's own memory for inputs that their output would overwrite.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/binding.h"
#include "kernels/copy.h"

namespace weft {

// Grows to the largest input and is kept: a call allocates only where none before was as large.
// One call at a time.
class Scratch {
 public:
  // A copy of the input, until the next call. Peers cannot load it.
  std::byte* copy_input(const Binding& binding) {
    const std::size_t bytes = binding.parts[0].total() * binding.element;
    if (bytes > bytes_) {
      memory_.reset();  // first, so that the two never exist together
      bytes_ = 0;
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    kernels::copy(memory_.get(), binding.user[0], bytes, kernels::To::kOwn);
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace weft
