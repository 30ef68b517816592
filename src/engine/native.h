// A fabric's own function under way, on memory of its own.
//
// The input is copied before the function begins, the output after it has ended well. So a call
// that fails gives the caller's buffers back at once: the function never saw them. What it works on
// stays with it until it ends.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/binding.h"
#include "fabric/natives.h"

namespace weft {

class NativeStep {
 public:
  NativeStep();
  // Waits a second for a function that has not ended. Then leaves it and its memory behind for
  // ever: to free memory that it may write would be worse.
  ~NativeStep();
  NativeStep(const NativeStep&) = delete;

  // Begins the function that the binding names, once the one before it has ended. Works on the
  // memory of earlier calls, as far as it goes. Throws what Natives::begin() throws.
  void begin(const Binding& binding, Endpoint& endpoint, int rank);
  bool under_way() const;
  // False: it goes on. True: the result is in the caller's output. Throws what it ended with.
  bool finish(const Binding& binding);

 private:
  struct Work;
  bool test();

  std::unique_ptr<Work> work_;
};

}  // namespace weft
