#include "fabric/shmem/surroundings.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/small_file.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

constexpr const char* kSize = "SHMEM_SYMMETRIC_SIZE";
constexpr const char* kOpenMpiSizes[] = {"SHMEM_SYMMETRIC_HEAP_SIZE", "SMA_SYMMETRIC_SIZE"};
// What libraries take of the heap for themselves: headers of blocks, alignment.
constexpr std::size_t kMargin = std::size_t{1} << 20;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::size_t read_size(const char* name) {
  const std::optional<std::size_t> bytes = parse_size(variable(name));
  if (bytes && *bytes != 0) return *bytes;
  throw InvalidArgument(std::string("shmem: ") + name + "=" + variable(name) +
                        " is no size of a heap; write bytes, or a number and K, M, G or T");
}

// Of this machine; unknown: no bound.
std::size_t memory() {
  const std::string text = value_of("/proc/meminfo", "MemTotal");  // "24683964 kB"
  std::size_t kib = 0;
  std::from_chars(text.data(), text.data() + text.size(), kib);
  return kib == 0 ? std::numeric_limits<std::size_t>::max() : kib << 10;
}

std::size_t checked(std::size_t bytes, const char* from) {
  if (bytes <= memory()) return bytes;
  throw Unsupported("shmem: a symmetric heap of " + std::to_string(bytes) + " bytes (" + from +
                    ") exceeds this machine's memory of " + std::to_string(memory()) +
                    "; set SHMEM_SYMMETRIC_SIZE to less");
}

// Open MPI's library shares each writable mapping of the process below the symbol `_end`. It takes
// that for the end of the program's data, and expects all PEs to have equally many. A program that
// neither links the library nor exports `_end` leaves it the library's own, with the heap, stacks
// and most libraries below it. Their number differs between PEs by chance, and shmem_init_thread
// then crashes, in one start of three.
void check_end_is_exported() {
  void* const program = ::dlopen(nullptr, RTLD_NOW);
  const bool exported = program && ::dlsym(program, "_end");
  if (program) ::dlclose(program);
  if (!exported) {
    throw Unsupported(
        "shmem: this program does not export its symbol _end, without which Open MPI's OpenSHMEM "
        "crashes at its start by chance; link the program with -rdynamic, or with -loshmem");
  }
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (unit.empty()) return value;
  constexpr std::string_view units = "KMGT";
  const std::size_t at = units.find(static_cast<char>(unit[0] & ~0x20));  // either case
  if (unit.size() != 1 || at == units.npos) return std::nullopt;
  const int shift = 10 * (static_cast<int>(at) + 1);
  if (value > std::numeric_limits<std::size_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

bool launched_by_open_mpi() { return !variable("OMPI_COMM_WORLD_SIZE").empty(); }

void check_launched() {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "ALPS_APP_PE", "SLURM_PROCID"}) {
    if (!variable(name).empty()) return;
  }
  throw Unsupported(
      "shmem: no launcher of OpenSHMEM started this process; start it by oshrun -n RANKS PROGRAM "
      "(Debian, Ubuntu: openmpi-bin), or by srun");
}

std::size_t settle_heap_size(std::size_t wanted) {
  for (const char* name : kOpenMpiSizes) {
    if (!variable(name).empty()) return checked(read_size(name), name);
  }
  const bool asked = !variable(kSize).empty();
  const std::size_t bytes = asked ? read_size(kSize) : wanted + kMargin;
  checked(bytes, asked ? kSize : "Weft's own");
  for (const char* name : {kSize, kOpenMpiSizes[0]}) {
    ::setenv(name, std::to_string(bytes).c_str(), 1);
  }
  return bytes;
}

void prepare_open_mpi() {
  // shmem_finalize unloads a module that patched functions of the C library still call into.
  ::setenv("OMPI_MCA_memory", "^patcher", 0);
  check_end_is_exported();
}

}  // namespace weft::shmem
