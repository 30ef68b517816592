// The instruction sets that the loops are compiled for. Tests run them all.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernels.h"

namespace weft::kernels {

// dst = src, which do not overlap.
using CopyFn = void (*)(void* dst, const void* src, std::size_t bytes);

// The kernels of one instruction set. A reduction is null where the pair is not reducible.
struct Table {
  ReduceFn entries[kDTypes][kReduceOps] = {};
  SplitSgdFn split_sgd = nullptr;
  CopyFn copy_plain = nullptr;   // stores into the caches
  CopyFn copy_parts = nullptr;   // the same, four parts at once
  CopyFn copy_stream = nullptr;  // whole lines past the caches, fenced at the end

  ReduceFn at(DType dtype, ReduceOp op) const {
    return entries[static_cast<int>(dtype)][static_cast<int>(op)];
  }
};

extern const Table kBaselineTable;
#if defined(__x86_64__)
extern const Table kAvx2Table;
extern const Table kAvx512Table;
#endif

struct Isa {
  std::string_view name;  // "avx512", "avx2", "baseline"
  const Table* table;
};

// The instruction sets that this processor and operating system can run, the best first. Never
// empty.
std::span<const Isa> available_isas();

// The one named `wanted`, the best if that is null or empty. Throws InvalidArgument if
// there is none of that name, Unsupported if this machine cannot run it.
const Isa& choose_isa(const char* wanted);

// The kernels of the instruction set that was chosen for this process.
const Table& chosen_table();

}  // namespace weft::kernels
