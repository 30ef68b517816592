#include "arguments.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <numeric>

namespace weft::torch_adapter {

const at::Tensor& only(const Site& site, const char* name, const std::vector<at::Tensor>& tensors) {
  if (tensors.size() != 1)
    refuse(site, name, " is a list of ", tensors.size(), " tensors; give exactly one");
  return tensors[0];
}

const std::vector<at::Tensor>& one_a_rank(const Site& site, const char* name,
                                          const std::vector<std::vector<at::Tensor>>& lists,
                                          int size) {
  if (lists.size() != 1)
    refuse(site, name, " is ", lists.size(), " lists of tensors; give exactly one");
  if (lists[0].size() != static_cast<std::size_t>(size))
    refuse(site, name, " has ", lists[0].size(), " tensors; give one for each of the ", size,
           " ranks");
  return lists[0];
}

void check_own(const Site& site, const std::vector<at::Tensor>& list, const at::Tensor& own) {
  const at::Tensor& entry = list[static_cast<std::size_t>(site.rank)];
  if (entry.sizes() != own.sizes())
    refuse(site, "the list's entry ", site.rank, " has sizes ", entry.sizes(),
           " but this rank's own tensor has ", own.sizes());
}

void check_pairs(const Site& site, const std::vector<at::Tensor>& outputs,
                 const std::vector<at::Tensor>& inputs) {
  if (inputs.empty() || outputs.size() != inputs.size())
    refuse(site, "there are ", inputs.size(), " inputs and ", outputs.size(),
           " outputs; give an output for each input, and at least one");
}

std::int64_t total(at::TensorList tensors) {
  std::int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return elements;
}

std::vector<std::size_t> counts_of(at::TensorList tensors, const Element& element) {
  std::vector<std::size_t> counts;
  counts.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) counts.push_back(element.count(tensor.numel()));
  return counts;
}

bool uniform(at::TensorList tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    return tensor.numel() == tensors[0].numel();
  });
}

std::size_t pack(at::TensorList tensors) {
  constexpr std::size_t kPackBytes = 64 << 10;
  std::size_t count = 0;
  while (count < tensors.size() && tensors[count].nbytes() < kPackBytes &&
         tensors[count].scalar_type() == tensors[0].scalar_type())
    ++count;
  return std::max<std::size_t>(1, count);
}

std::vector<at::Tensor> parts_by_rank(at::TensorList tensors, int size) {
  at::AutoDispatchBelowADInplaceOrView plain_views;
  std::vector<at::Tensor> parts;
  parts.reserve(tensors.size() * static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    for (const at::Tensor& tensor : tensors)
      parts.push_back(tensor.view({size, tensor.numel() / size}).select(0, rank));
  return parts;
}

std::vector<std::size_t> row_counts(const Site& site, const char* name, const at::Tensor& tensor,
                                    const std::vector<std::int64_t>& splits, int size,
                                    const Element& element) {
  if (tensor.dim() == 0) refuse(site, "the ", name, " has no dimension to split");
  const std::int64_t rows = tensor.size(0);
  if (splits.empty() && rows % size != 0)
    refuse(site, "the ", name, " has ", rows, " rows, which ", size,
           " ranks cannot share equally; give split sizes");
  const std::vector<std::int64_t> even(static_cast<std::size_t>(size), rows / size);
  const std::vector<std::int64_t>& shares = splits.empty() ? even : splits;
  const bool negative = std::any_of(shares.begin(), shares.end(), [](auto n) { return n < 0; });
  const auto sum = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  if (negative || shares.size() != static_cast<std::size_t>(size) || sum != rows)
    refuse(site, "the ", name, "'s split sizes are ", at::IntArrayRef(shares), "; give ", size,
           " that add up to its ", rows, " rows");
  const std::int64_t row = rows ? tensor.numel() / rows : 0;
  std::vector<std::size_t> counts;
  counts.reserve(shares.size());
  for (const std::int64_t share : shares) counts.push_back(element.count(share * row));
  return counts;
}

}  // namespace weft::torch_adapter
