#include "fabric/shmem/shmem_fabric.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "fabric/shmem/process.h"
#include "fabric/shmem/shmem_lines.h"
#include "weft/error.h"

namespace weft::shmem {
ShmemFabric::ShmemFabric() : ShmemFabric(process()) {}

ShmemFabric::ShmemFabric(const Process& process)
    : MailFabric("shmem", "oshrun", process.job, std::make_unique<ShmemLines>(process)),
      process_(process),
      natives_(process, site()) {}

std::unique_ptr<mail::NativeLane> ShmemFabric::native_lane(const std::vector<int>& ranks) {
  if (std::ranges::count(ranks, -1) > 0) return nullptr;
  return std::make_unique<ShmemNativeLane>(process_, ranks);
}

SymmetricBlock ShmemFabric::allocate(std::size_t bytes, MemoryUse use) {
  if (use == MemoryUse::kUser) return MailFabric::allocate(bytes, use);
  mark_.check();
  std::byte* const data = process_.heap.take(bytes);
  std::memset(data, 0, bytes);
  const SymmetricBlock block{data, bytes, {}};
  adopt(block, {data, [&heap = process_.heap](void* begin) { heap.release(begin); }});
  return block;
}

void ShmemFabric::release(const SymmetricBlock& block) {
  if (block.where) return MailFabric::release(block);
  disown(block);
}

}  // namespace weft::shmem
