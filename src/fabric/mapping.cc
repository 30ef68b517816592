#include "fabric/mapping.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/errno_text.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void refuse(const char* call, std::size_t bytes, const char* remedy = "") {
  throw Unsupported("no " + std::to_string(bytes) + " bytes of shared memory, " + errno_text(call) +
                    remedy);
}

// Huge pages fit only where the address is a multiple of theirs: maps the file at the first
// such place of a larger hole, then gives the rest of the hole back.
void* map_aligned(int fd, std::size_t bytes, off_t offset) {
  const std::size_t hole = bytes + kHugePage;
  void* const reserved = ::mmap(nullptr, hole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  auto* const first = static_cast<std::byte*>(reserved);
  const std::size_t skip =
      (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
  void* const data =
      ::mmap(first + skip, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset);
  if (data == MAP_FAILED) {
    const int error = errno;
    ::munmap(reserved, hole);
    errno = error;
    return MAP_FAILED;
  }
  if (skip > 0) ::munmap(first, skip);
  ::munmap(first + skip + bytes, hole - skip - bytes);
  // Advice: if huge pages are off, small ones are used.
  ::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

UniqueFd make_memory(std::size_t bytes) {
  UniqueFd fd(::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) refuse("memfd_create", bytes);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) refuse("ftruncate", bytes);
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) refuse("F_ADD_SEALS", bytes);
  return fd;
}

void discard_memory(int fd, std::size_t bytes) {
  // Without effect at worst: the pages then go with the last mapping.
  (void)::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
}

void make_private(int fd, std::size_t offset, std::byte* data, std::size_t bytes) {
  if (::mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
             static_cast<off_t>(offset)) == MAP_FAILED)
    ::mprotect(data, bytes, PROT_READ);  // then the child crashes rather than spoil its parent's
}

bool replace_pages(std::byte* data, std::size_t bytes) {
  void* const own =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return false;
  std::memcpy(own, data, bytes);
  if (::mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data) != MAP_FAILED) return true;
  ::munmap(own, bytes);
  return false;
}

std::shared_ptr<Mapping> Mapping::of(int fd, std::size_t bytes, std::size_t offset) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || static_cast<std::size_t>(status.st_size) < bytes ||
      static_cast<std::size_t>(status.st_size) - bytes < offset ||
      (::fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    throw Unsupported("memory that a peer passed could shrink while it is read");
  }
  const auto from = static_cast<off_t>(offset);
  void* const data = bytes >= kHugePage
                         ? map_aligned(fd, bytes, from)
                         : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
  if (data == MAP_FAILED) refuse("mmap", bytes, "; check ulimit -v and vm.max_map_count");
  return std::shared_ptr<Mapping>(new Mapping(static_cast<std::byte*>(data), bytes));
}

Mapping::~Mapping() { ::munmap(data_, bytes_); }

}  // namespace weft
