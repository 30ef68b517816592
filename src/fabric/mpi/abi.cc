#include "fabric/mpi/abi.h"

#include <dlfcn.h>
#include <cstdint>
#include <vector>

#include "weft/error.h"

namespace weft::mpi {
namespace {

// One predefined handle: Open MPI's variable, MPICH's number, the standard's number.
struct Row {
  const char* variable;
  std::uint32_t mpich;
  std::uint32_t standard;
};

struct TypeRow {
  DType dtype;
  Row row;
};

struct OpRow {
  ReduceOp op;
  Row row;
};

constexpr TypeRow kTypes[] = {
    {DType::kU8, {"ompi_mpi_uint8_t", 0x4c00013b, 0x241}},
    {DType::kI8, {"ompi_mpi_int8_t", 0x4c000137, 0x240}},
    {DType::kU16, {"ompi_mpi_uint16_t", 0x4c00023c, 0x249}},
    {DType::kI16, {"ompi_mpi_int16_t", 0x4c000238, 0x248}},
    {DType::kU32, {"ompi_mpi_uint32_t", 0x4c00043d, 0x251}},
    {DType::kI32, {"ompi_mpi_int32_t", 0x4c000439, 0x250}},
    {DType::kU64, {"ompi_mpi_uint64_t", 0x4c00083e, 0x259}},
    {DType::kI64, {"ompi_mpi_int64_t", 0x4c00083a, 0x258}},
    {DType::kF32, {"ompi_mpi_float", 0x4c00040a, 0x210}},
    {DType::kF64, {"ompi_mpi_double", 0x4c00080b, 0x214}},
    {DType::kC64, {"ompi_mpi_c_float_complex", 0x4c000840, 0x212}},
    {DType::kC128, {"ompi_mpi_c_double_complex", 0x4c001041, 0x216}},
};

constexpr OpRow kOps[] = {
    {ReduceOp::kSum, {"ompi_mpi_op_sum", 0x58000003, 0x21}},
    {ReduceOp::kProd, {"ompi_mpi_op_prod", 0x58000004, 0x24}},
    {ReduceOp::kMin, {"ompi_mpi_op_min", 0x58000002, 0x22}},
    {ReduceOp::kMax, {"ompi_mpi_op_max", 0x58000001, 0x23}},
    {ReduceOp::kBitAnd, {"ompi_mpi_op_band", 0x58000006, 0x28}},
    {ReduceOp::kBitOr, {"ompi_mpi_op_bor", 0x58000008, 0x29}},
    {ReduceOp::kBitXor, {"ompi_mpi_op_bxor", 0x5800000a, 0x2a}},
};

constexpr Row kWorld{"ompi_mpi_comm_world", 0x44000000, 0x101};
constexpr Row kSelf{"ompi_mpi_comm_self", 0x44000001, 0x102};
constexpr Row kNoComm{"ompi_mpi_comm_null", 0x04000000, 0x100};
constexpr Row kNoRequest{"ompi_request_null", 0x2c000000, 0x180};
constexpr Row kErrorsReturn{"ompi_mpi_errors_return", 0x54000001, 0x143};
constexpr Row kByte{"ompi_mpi_byte", 0x4c00010d, 0x247};

void* handle_of(const Row& row, const File& file, AbiKind kind) {
  if (kind == AbiKind::kMpich) return reinterpret_cast<void*>(std::uintptr_t{row.mpich});
  if (kind == AbiKind::kStandard) return reinterpret_cast<void*>(std::uintptr_t{row.standard});
  void* const variable = ::dlsym(file.handle, row.variable);
  if (!variable) throw Unsupported("mpi: " + file.path + " has no " + row.variable);
  return variable;
}

void fill_handles(Abi& abi, const File& file) {
  const auto handle = [&](const Row& row) { return handle_of(row, file, abi.kind); };
  abi.world = handle(kWorld);
  abi.self = handle(kSelf);
  abi.no_comm = handle(kNoComm);
  abi.no_request = handle(kNoRequest);
  abi.errors_return = handle(kErrorsReturn);
  abi.byte = handle(kByte);
  for (const TypeRow& type : kTypes) {
    abi.datatypes[static_cast<std::size_t>(type.dtype)] = handle(type.row);
  }
  for (const OpRow& op : kOps) abi.ops[static_cast<std::size_t>(op.op)] = handle(op.row);
}

// int source, tag, error, cancelled; size_t count
Abi open_mpi() {
  Abi abi;
  abi.kind = AbiKind::kOpenMpi;
  abi.name = "Open MPI's";
  abi.levels = {0, 1, 2, 3};
  abi.status_bytes = 24;
  abi.source_at = 0, abi.tag_at = 4;
  return abi;
}

// int count_low, count_high_and_cancelled, source, tag, error
Abi mpich() {
  Abi abi;
  abi.kind = AbiKind::kMpich;
  abi.name = "MPICH's";
  abi.handles_are_ints = true;
  abi.levels = {0, 1, 2, 3};
  abi.ignore = reinterpret_cast<void*>(std::uintptr_t{1});
  abi.status_bytes = 20;
  abi.source_at = 8, abi.tag_at = 12;
  return abi;
}

// int source, tag, error, internal[5]
Abi standard() {
  Abi abi;
  abi.kind = AbiKind::kStandard;
  abi.name = "MPI-5's";
  abi.levels = {0, 1024, 2048, 4096};
  abi.status_bytes = 32;
  abi.source_at = 0, abi.tag_at = 4;
  return abi;
}

// Whether the library says that it has the standard's interface. MPICH's own says version -1.
bool is_standard(const File& file) {
  using Version = int (*)(int*, int*);
  const auto version = reinterpret_cast<Version>(::dlsym(file.handle, "MPI_Abi_get_version"));
  int major = -1, minor = -1;
  return version && version(&major, &minor) == 0 && major == 1;
}

// MPICH's interface has no mark of its own, and a stranger's numbers would crash. So the name has
// to be that of a library which keeps to it.
bool is_mpich(const std::string& version) {
  for (const char* name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH", "ParaStation"}) {
    if (version.find(name) != std::string::npos) return true;
  }
  return false;
}

void check_version(const File& file) {
  using Version = int (*)(int*, int*);
  const auto version = reinterpret_cast<Version>(::dlsym(file.handle, "MPI_Get_version"));
  int major = 0, minor = 0;
  if (version) version(&major, &minor);
  if (major >= 3) return;
  throw Unsupported("mpi: " + file.path + " has MPI " + std::to_string(major) + "." +
                    std::to_string(minor) + ", but Weft needs MPI 3.0: load a newer one");
}

}  // namespace

std::string version_of(const File& file) {
  using Version = int (*)(char*, int*);
  const auto version = reinterpret_cast<Version>(::dlsym(file.handle, "MPI_Get_library_version"));
  if (!version) return {};
  std::vector<char> text(8193);  // MPICH's and the standard's limit; Open MPI's is 256
  int length = 0;
  version(text.data(), &length);
  const std::string whole = text.data();
  return whole.substr(0, whole.find('\n'));
}

Abi abi_of(const File& file) {
  check_version(file);
  Abi abi;
  if (is_standard(file)) {
    abi = standard();
  } else if (::dlsym(file.handle, "ompi_mpi_comm_world")) {
    abi = open_mpi();
  } else if (const std::string version = version_of(file); is_mpich(version)) {
    abi = mpich();
  } else {
    throw Unsupported("mpi: " + file.path + " (" + version +
                      ") has a binary interface that Weft does not know: use Open MPI, MPICH, "
                      "Intel MPI, or any MPI 5 library with the standard's interface");
  }
  fill_handles(abi, file);
  return abi;
}

}  // namespace weft::mpi
