#include "job.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/ParallelGuard.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace weft::torch_adapter {

namespace {

// Elements in order in memory, as they are: no lazy conjugate or negative.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

std::byte* data_of(const at::Tensor& tensor, bool written) {
  // mutable_data_ptr() also ends a lazy sharing of the storage.
  return static_cast<std::byte*>(written ? tensor.mutable_data_ptr()
                                         : const_cast<void*>(tensor.const_data_ptr()));
}

// The address of the tensors if they lie one after another; null if they are all empty.
std::optional<std::byte*> in_a_row(at::TensorList tensors, bool written) {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  const at::Tensor* first = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!is_plain(tensor)) return std::nullopt;
    if (tensor.numel() == 0) continue;
    std::byte* data = data_of(tensor, written);
    if (!first) {
      first = &tensor;
      begin = data;
    } else if (data != end || !tensor.is_alias_of(*first)) {
      return std::nullopt;
    }
    end = data + tensor.nbytes();
  }
  return begin;
}

at::Tensor view(std::byte* data, const at::Tensor& like) {
  return at::from_blob(data, like.sizes(), like.options());
}

}  // namespace

const void* Job::read(at::TensorList tensors) { return stage(nullptr, tensors, true); }

void* Job::write(const Site& site, at::TensorList tensors) { return stage(&site, tensors, false); }

void* Job::update(const Site& site, at::TensorList tensors) { return stage(&site, tensors, true); }

std::byte* Job::stage(const Site* written, at::TensorList tensors, bool fill) {
  if (const auto place = in_a_row(tensors, written)) return *place;
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (written && at::has_internal_overlap(tensor) == at::MemOverlap::Yes)
      refuse(*written, "a tensor of sizes ", tensor.sizes(), " and strides ", tensor.strides(),
             " has several elements in one place; write to a clone() of it");
    bytes += tensor.nbytes();
  }
  at::AutoDispatchBelowADInplaceOrView plain_copies;
  copies_.push_back(at::empty({static_cast<std::int64_t>(bytes)}, at::kByte));
  std::byte* const begin = data_of(copies_.back(), true);
  std::byte* place = begin;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    if (fill && is_plain(tensor))
      std::memcpy(place, tensor.const_data_ptr(), tensor.nbytes());
    else if (fill)
      view(place, tensor).copy_(tensor);
    if (written) returns_.push_back({tensor, place});
    place += tensor.nbytes();
  }
  return begin;
}

at::Tensor Job::contiguous_input(const at::Tensor& tensor) {
  if (is_plain(tensor)) return tensor;
  return view(static_cast<std::byte*>(const_cast<void*>(read(tensor))), tensor);
}

at::Tensor Job::contiguous_output(const Site& site, const at::Tensor& tensor) {
  if (is_plain(tensor)) return tensor;
  auto* place = static_cast<std::byte*>(write(site, tensor));
  return view(place, tensor);
}

void Job::append(Job&& other) {
  auto take = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
  };
  take(calls_, other.calls_);
  take(transfers_, other.transfers_);
  take(counts_, other.counts_);  // the calls' spans see the same elements
  take(copies_, other.copies_);
  take(returns_, other.returns_);
}

std::span<const std::size_t> Job::keep_counts(std::vector<std::size_t> counts) {
  counts_.push_back(std::move(counts));
  return counts_.back();
}

void Job::copy_back() {
  at::AutoDispatchBelowADInplaceOrView plain_copies;
  // Often on a thread of the completion pool, which is to start no OpenMP team of its own.
  c10::ParallelGuard serial(true);
  // Backwards: what goes into a contiguous_output() comes before that goes to its tensor.
  for (auto back = returns_.rbegin(); back != returns_.rend(); ++back) {
    if (is_plain(back->to))
      std::memcpy(data_of(back->to, true), back->from, back->to.nbytes());
    else
      back->to.copy_(view(back->from, back->to));
  }
  returns_.clear();
  copies_.clear();
}

}  // namespace weft::torch_adapter
