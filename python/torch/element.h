// torch's element types and reductions, as Weft's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <initializer_list>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include "operation.h"
#include "weft/types.h"

namespace weft::torch_adapter {

// How Weft counts elements: `units` of `dtype` are one element of the tensor. If Weft has no such
// type (for example float8_e4m3fnuz) an element is its bytes.
struct Element {
  DType dtype;
  std::size_t units;

  std::size_t count(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * units;
  }
};

// For collectives that only move.
Element moved(at::ScalarType type);

struct Reduction {
  DType dtype;
  ReduceOp op;
  double scale;  // of PREMUL_SUM
};

// For collectives that reduce. Whether the reduction is defined on the type, Weft knows.
Reduction reduced(const Site& site, at::ScalarType type, const c10d::ReduceOp& op);

// Tensors of one argument; its name is for messages.
struct Argument {
  const char* name;
  at::TensorList tensors;
};

// Their element type, which all have. Refuses other devices than the CPU and sparse tensors.
at::ScalarType common_type(const Site& site, std::initializer_list<Argument> arguments);

}  // namespace weft::torch_adapter
