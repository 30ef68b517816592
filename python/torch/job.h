// The memory side of one c10d call.
//
// Weft reads and writes contiguous memory. A tensor that is contiguous is used where it
// lies, and so is a list of tensors that lie one after another in one storage. Any other
// goes through a contiguous copy: filled when it is staged for reading, copied back by
// copy_back() after the calls have finished.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <vector>

#include "operation.h"
#include "weft/communicator.h"

namespace weft::torch_adapter {

// A send or receive.
struct Transfer {
  bool sends;
  void* data;
  std::size_t count;
  DType dtype;
  int peer;  // kAnySource for a receive from any rank
  int tag;
};

// Movable; nothing that a call points to moves with it. The tensors themselves must live until the
// calls have finished; the holder sees to that. One thread at a time.
class Job {
 public:
  // The address at which Weft finds these tensors, one after another. `site` is for messages: a
  // tensor
  // with several elements in one place can be read but not written.
  const void* read(at::TensorList tensors);
  void* write(const Site& site, at::TensorList tensors);
  void* update(const Site& site, at::TensorList tensors);

  void add(const Call& call) { calls_.push_back(call); }
  void add(const Transfer& transfer) { transfers_.push_back(transfer); }
  // All of another job, after what is here.
  void append(Job&& other);
  const c10::SmallVectorImpl<Call>& calls() const { return calls_; }
  c10::SmallVectorImpl<Call>& calls() { return calls_; }
  const c10::SmallVectorImpl<Transfer>& transfers() const { return transfers_; }

  // `tensor` if it is contiguous, else a copy for `read`.
  at::Tensor contiguous_input(const at::Tensor& tensor);
  // `tensor` if it is contiguous, else a copy for `write` that copy_back() puts into it.
  at::Tensor contiguous_output(const Site& site, const at::Tensor& tensor);

  // Counts that outlive the call. Elements are counted in `units`.
  std::span<const std::size_t> keep_counts(std::vector<std::size_t> counts);

  bool copies_back() const { return !returns_.empty(); }
  // Puts what was received where the user expects it. Once, after the calls.
  void copy_back();

 private:
  struct Return {
    at::Tensor to;
    std::byte* from;
  };
  std::byte* stage(const Site* written, at::TensorList tensors, bool fill);

  c10::SmallVector<Call, 1> calls_;
  c10::SmallVector<Transfer, 1> transfers_;
  std::vector<std::vector<std::size_t>> counts_;
  std::vector<at::Tensor> copies_;
  std::vector<Return> returns_;
};

}  // namespace weft::torch_adapter
