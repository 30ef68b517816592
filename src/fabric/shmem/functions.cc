#include "fabric/shmem/functions.h"

#include <dlfcn.h>

#include <bit>
#include <string>

#include "weft/error.h"

namespace weft::shmem {
namespace {

template <typename Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
}

template <typename Function>
void require(void* handle, const char* name, Function& function) {
  find(handle, name, function);
  if (!function) {
    throw Unsupported(std::string("shmem: the library has no ") + name +
                      "; install an OpenSHMEM of 1.4 or later (Debian, Ubuntu: libopenmpi3)");
  }
}

// How the standard spells the type in the names of reductions; empty: it has none for it.
std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::kI16:
      return "short";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kC64:
      return "complexf";
    case DType::kC128:
      return "complexd";
    default:
      return {};
  }
}

std::string op_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProd:
      return "prod";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kBitAnd:
      return "and";
    case ReduceOp::kBitOr:
      return "or";
    case ReduceOp::kBitXor:
      return "xor";
    default:
      return {};
  }
}

void find_collectives(void* handle, Functions& found) {
  find(handle, "shmem_broadcast32", found.broadcast32);
  find(handle, "shmem_broadcast64", found.broadcast64);
  find(handle, "shmem_collect32", found.collect32);
  find(handle, "shmem_collect64", found.collect64);
  find(handle, "shmem_fcollect32", found.fcollect32);
  find(handle, "shmem_fcollect64", found.fcollect64);
  find(handle, "shmem_alltoall32", found.alltoall32);
  find(handle, "shmem_alltoall64", found.alltoall64);
}

}  // namespace

std::optional<ActiveSet> active_set(std::span<const int> pes) {
  if (pes.empty() || pes[0] < 0) return std::nullopt;
  ActiveSet set{pes[0], 0, static_cast<int>(pes.size())};
  if (pes.size() == 1) return set;
  const std::int64_t stride = std::int64_t{pes[1]} - pes[0];
  if (stride <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(stride))) return std::nullopt;
  for (std::size_t i = 1; i < pes.size(); ++i) {
    if (std::int64_t{pes[i]} - pes[i - 1] != stride) return std::nullopt;
  }
  set.log_stride = std::countr_zero(static_cast<std::uint64_t>(stride));
  return set;
}

Functions find_functions(void* handle) {
  Functions found;
  require(handle, "shmem_init_thread", found.init_thread);
  require(handle, "shmem_query_thread", found.query_thread);
  require(handle, "shmem_info_get_name", found.info_get_name);
  require(handle, "shmem_my_pe", found.my_pe);
  require(handle, "shmem_n_pes", found.n_pes);
  require(handle, "shmem_align", found.align);
  require(handle, "shmem_free", found.free);
  require(handle, "shmem_putmem", found.putmem);
  require(handle, "shmem_fence", found.fence);
  require(handle, "shmem_ulong_atomic_add", found.ulong_atomic_add);
  require(handle, "shmem_ptr", found.ptr);
  require(handle, "shmem_barrier_all", found.barrier_all);
  require(handle, "shmem_barrier", found.barrier);
  find(handle, "shmem_putmem_signal", found.putmem_signal);
  find_collectives(handle, found);
  return found;
}

Reduction find_reduction(void* handle, DType dtype, ReduceOp op) {
  const std::string type = type_name(dtype), name = op_name(op);
  if (type.empty() || name.empty()) return nullptr;
  Reduction function = nullptr;
  find(handle, ("shmem_" + type + "_" + name + "_to_all").c_str(), function);
  return function;
}

}  // namespace weft::shmem
