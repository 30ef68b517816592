#include "fabric/shmem/library.h"

#include <dlfcn.h>

#include <array>
#include <span>

#include "fabric/shmem/surroundings.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

constexpr int kSerialized = 2;  // SHMEM_THREAD_SERIALIZED in all libraries known here

// By their file names: Open MPI's; Sandia's and Cray's.
constexpr std::array kOpenMpi = {"liboshmem.so.40", "liboshmem.so"};
constexpr std::array kOthers = {"libsma.so.0", "libsma.so"};

void* try_all(std::span<const char* const> names, int flags) {
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | flags)) return handle;
  }
  return nullptr;
}

constexpr const char* kOpenMpiFlag = "oshmem_shmem_initialized";

// What the program has linked or loaded, wherever it lies. Null: nothing.
void* find_loaded() {
  void* const program = ::dlopen(nullptr, RTLD_NOW);
  if (program && ::dlsym(program, "shmem_init_thread")) return program;
  if (program) ::dlclose(program);
  if (void* handle = try_all(kOpenMpi, RTLD_NOLOAD)) return handle;
  return try_all(kOthers, RTLD_NOLOAD);
}

// Never closed: its threads and tables may be in use until the process ends.
void* load() {
  const bool open_mpi = launched_by_open_mpi();
  void* handle = try_all(open_mpi ? std::span(kOpenMpi) : std::span(kOthers), 0);
  if (!handle) handle = try_all(open_mpi ? std::span(kOthers) : std::span(kOpenMpi), 0);
  if (handle) return handle;
  throw Unsupported(
      "shmem: there is no OpenSHMEM library (neither liboshmem.so.40 nor libsma.so); install one "
      "(Debian, Ubuntu: libopenmpi3), or add its folder to LD_LIBRARY_PATH");
}

void* find_or_load() {
  if (void* const handle = find_loaded()) return handle;
  check_launched();
  if (launched_by_open_mpi()) prepare_open_mpi();
  return load();
}

// Whether the program has initialised OpenSHMEM. 1.4 has no such question, and Open MPI ends
// processes that ask anything else too early: its own flag, or the question of 1.6.
bool is_initialized(void* handle) {
  if (const void* flag = ::dlsym(handle, kOpenMpiFlag)) {
    return *static_cast<const volatile bool*>(flag);
  }
  int answer = 0;
  using Query = void (*)(int*);
  if (auto ask = reinterpret_cast<Query>(::dlsym(handle, "shmem_query_initialized"))) ask(&answer);
  return answer != 0;
}

// `name`: MPI_Initialized or MPI_Finalized, of the MPI below this OpenSHMEM, if there is one.
bool ask_mpi(void* handle, const char* name) {
  int answer = 0;
  using Query = int (*)(int*);
  if (auto ask = reinterpret_cast<Query>(::dlsym(handle, name))) ask(&answer);
  return answer != 0;
}

}  // namespace

std::string find_library() {
  Dl_info info{};
  return ::dladdr(::dlsym(find_or_load(), "shmem_init_thread"), &info) ? info.dli_fname : "";
}

Shmem& Shmem::start(std::size_t heap) {
  static Shmem started(heap);  // once; again after a call that threw
  return started;
}

Shmem::Shmem(std::size_t heap) : handle_(find_loaded()) {
  if (handle_ && is_initialized(handle_)) {
    call_ = find_functions(handle_);
  } else {
    initialize(heap);
  }
  check_threads();
  learn();
}

void Shmem::initialize(std::size_t heap) {
  check_launched();
  heap_ = settle_heap_size(heap);
  if (launched_by_open_mpi()) prepare_open_mpi();
  handle_ = find_or_load();
  call_ = find_functions(handle_);
  int provided = 0;
  if (const int error = call_.init_thread(kSerialized, &provided); error != 0) {
    throw Unsupported("shmem: shmem_init_thread failed (" + std::to_string(error) +
                      "); what it printed says why. A heap too large for /dev/shm is one cause: " +
                      "set SHMEM_SYMMETRIC_SIZE, now " + std::to_string(heap_));
  }
  ours_ = true;
}

// Asks anew: where OpenSHMEM is already initialised, init_thread answers anything.
void Shmem::check_threads() {
  int level = 0;
  call_.query_thread(&level);
  if (level >= kSerialized) return;
  throw Unsupported("shmem: the library allows calls from one thread only (level " +
                    std::to_string(level) +
                    "); initialise it by shmem_init_thread(SHMEM_THREAD_SERIALIZED, ...), or " +
                    "use a library built with threads");
}

void Shmem::learn() {
  std::array<char, 1024> text{};  // SHMEM_MAX_NAME_LEN is 256 in all libraries known here
  call_.info_get_name(text.data());
  name_ = text.data();
  pe_ = call_.my_pe();
  pes_ = call_.n_pes();
  open_mpi_ = ::dlsym(handle_, kOpenMpiFlag) != nullptr;
  if (open_mpi_) {
    sync_value_ = -1;
    progress_ = reinterpret_cast<void (*)()>(::dlsym(handle_, "opal_progress"));
    set_yields_ =
        reinterpret_cast<bool (*)(bool)>(::dlsym(handle_, "opal_progress_set_yield_when_idle"));
    // Open MPI 5 has a putmem_signal that ends the process. So put, fence and add stay.
  } else if (name_.find("Sandia") != std::string::npos) {
    sync_value_ = 0;
    signal_add_ = 1;
  }
}

// Open MPI's OpenSHMEM ends with its MPI.
bool Shmem::is_over() const { return open_mpi_ && ask_mpi(handle_, "MPI_Finalized"); }

const char* Shmem::heap_variable() const {
  return open_mpi_ && !ours_ ? "SHMEM_SYMMETRIC_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE";
}

void Shmem::put_signal(void* to, const void* from, std::size_t bytes, std::uint64_t* flag,
                       std::uint64_t value, int pe) {
  if (call_.putmem_signal && signal_add_ != 0) {
    call_.putmem_signal(to, from, bytes, flag, value, signal_add_, pe);
    return;
  }
  if (bytes != 0) {
    call_.putmem(to, from, bytes, pe);
    call_.fence();
  }
  add(flag, value, pe);
}

}  // namespace weft::shmem
