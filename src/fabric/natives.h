// Collectives that a fabric has of its own: those of MPI or OpenSHMEM, or a network's offload.
//
// Weft runs one as the verb `native`. It begins the function once, and then tests it without
// waiting. The function works on memory of the library's own: a call that failed gives the caller's
// buffers back at once, and the function may go on for as long as it must.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fabric/fabric.h"
#include "plan/partition.h"

namespace weft {

// A call over whole buffers. It is kept until its handle has ended.
struct NativeCall {
  Endpoint& lane;       // the lane of the call, which the fabric has opened
  Signature signature;  // what is called, and its number on the lane
  double scale = 1.0;   // each result is multiplied by it
  int rank = 0, ranks = 1;
  // Empty where a rank has none. `input` and `output` never overlap.
  std::span<const std::byte> input;
  std::span<std::byte> output;
  // The ranks' blocks of both, where the collective has a block for each rank. In elements, valid
  // during begin() only.
  const Partition& input_blocks;
  const Partition& output_blocks;
};

// A function under way. One thread at a time.
class NativeRun {
 public:
  virtual ~NativeRun() = default;
  // Whether the function has ended, so that it no longer touches the call's buffers. Does not wait.
  // Throws if it has ended without a result. The engine asks again until it has ended, also after
  // the lane was aborted. The native itself notices that a member has died.
  virtual bool test() = 0;
};

// What a fabric has. Thread safe. It lives as long as the fabric.
class Natives {
 public:
  virtual ~Natives() = default;
  // Why there is no function for such a call on `lane`, which the fabric has opened and which is
  // connected; empty: there is one. All ranks get the same answer.
  virtual std::string obstacle(const Endpoint& lane, Collective collective, DType dtype,
                               ReduceOp op) const = 0;
  // Does not wait. Throws Error if nothing was begun.
  virtual std::unique_ptr<NativeRun> begin(const NativeCall& call) = 0;
};

// For libraries that know only sums: an average or a premultiplied sum is a sum, of which each
// result is then multiplied by NativeCall::scale.
ReduceOp without_scale(ReduceOp op);
void scale_output(const NativeCall& call);

}  // namespace weft
