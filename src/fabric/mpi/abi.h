// The three binary interfaces that MPI libraries have, as data. Nothing else knows their numbers.
//
//   Open MPI          handles are addresses of the library's variables.
//   MPICH             handles are ints. Intel MPI, MVAPICH and Cray MPICH have the same.
//   MPI-5 standard    handles are small numbers in pointer size.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/types.h"

namespace weft::mpi {

// A library that was loaded. It is never closed: its threads may run until the process ends.
struct File {
  void* handle = nullptr;  // dlopen's
  std::string path;
};

enum class AbiKind { kOpenMpi, kMpich, kStandard };

struct Abi {
  AbiKind kind = AbiKind::kMpich;
  std::string_view name;
  bool handles_are_ints = false;

  // Predefined handles. Null: MPI has none such.
  void* world = nullptr;
  void* self = nullptr;
  void* no_comm = nullptr;
  void* no_request = nullptr;
  void* errors_return = nullptr;
  void* byte = nullptr;
  std::array<void*, kDTypes> datatypes{};
  std::array<void*, kReduceOps> ops{};

  std::array<int, 4> levels{};  // by Level
  void* ignore = nullptr;       // instead of a status

  // An MPI_Status: where its ints lie, in bytes.
  std::size_t status_bytes = 0;
  std::size_t source_at = 0, tag_at = 0;
};

// The binary interface of a library. Throws Unsupported if it is none of the three, or older than
// MPI-3.
Abi abi_of(const File& file);

// What the library says of itself, its first line: "Open MPI v4.1.4, package: ...".
std::string version_of(const File& file);

}  // namespace weft::mpi
