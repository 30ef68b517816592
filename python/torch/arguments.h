// The lists of tensors that c10d's calls take: their shape, checked, and their counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "element.h"
#include "operation.h"

namespace weft::torch_adapter {

// The only tensor of a list, the only list of lists with a tensor a rank. c10d's lists have
// a place for each device of a process; there is one.
const at::Tensor& only(const Site& site, const char* name, const std::vector<at::Tensor>& tensors);
const std::vector<at::Tensor>& one_a_rank(const Site& site, const char* name,
                                          const std::vector<std::vector<at::Tensor>>& lists,
                                          int size);

// Refuses a list whose entry for this rank has other sizes than `own`.
void check_own(const Site& site, const std::vector<at::Tensor>& list, const at::Tensor& own);
// Refuses lists of different lengths, and empty ones.
void check_pairs(const Site& site, const std::vector<at::Tensor>& outputs,
                 const std::vector<at::Tensor>& inputs);

// Elements of all tensors together, and of each.
std::int64_t total(at::TensorList tensors);
std::vector<std::size_t> counts_of(at::TensorList tensors, const Element& element);
// Whether all have as many elements as the first.
bool uniform(at::TensorList tensors);

// How many tensors from the front of `tensors` go into one coalesced call: small ones of one type.
// A copy costs less than a call for them. Equal on all ranks, as the tensors' sizes are.
std::size_t pack(at::TensorList tensors);
// The ranks' parts of contiguous tensors: first those of rank 0, one of each tensor.
std::vector<at::Tensor> parts_by_rank(at::TensorList tensors, int size);

// Elements for each rank where `splits` divide a tensor's rows; equally if there are none.
std::vector<std::size_t> row_counts(const Site& site, const char* name, const at::Tensor& tensor,
                                    const std::vector<std::int64_t>& splits, int size,
                                    const Element& element);

}  // namespace weft::torch_adapter
