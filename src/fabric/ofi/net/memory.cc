#include "fabric/ofi/net/memory.h"

#include <sys/mman.h>

#include "base/errno_text.h"
#include "fabric/location.h"
#include "fabric/ofi/net/port.h"
#include "weft/error.h"

namespace weft::ofi {

void Sources::adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) {
  auto source = std::make_shared<Source>();
  source->segment = segment_of(block.where);
  source->data = block.data;
  source->bytes = block.bytes;
  source->memory = std::move(memory);
  if (port_->registers_sources()) {
    source->region =
        std::make_unique<Registration>(port_, block.data, block.bytes, Registration::Use::kSend);
  }
  std::lock_guard lock(mutex_);
  sources_[segment_of(block.where)] = std::move(source);
}

void Sources::drop(const SymmetricBlock& block) {
  std::shared_ptr<const Source> source;
  std::lock_guard lock(mutex_);
  const auto found = sources_.find(segment_of(block.where));
  if (found == sources_.end() || found->second->data != block.data) {
    throw InvalidArgument("block: not allocated by this fabric, or released before");
  }
  source = std::move(found->second);
  sources_.erase(found);
}

std::shared_ptr<const Source> Sources::find(std::uint32_t segment) const {
  std::lock_guard lock(mutex_);
  const auto found = sources_.find(segment);
  return found == sources_.end() ? nullptr : found->second;
}

void Mirror::Unmap::operator()(std::byte* data) const { ::munmap(data, bytes); }

std::unique_ptr<std::byte, Mirror::Unmap> Mirror::map(std::size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw Unsupported("ofi: no " + std::to_string(bytes) + " bytes for a peer's payloads, " +
                      errno_text("mmap"));
  }
  return {static_cast<std::byte*>(data), Unmap{bytes}};
}

Mirror::Mirror(const std::shared_ptr<Port>& port, std::size_t bytes)
    : bytes_(bytes),
      data_(map(bytes)),
      region_(port, data_.get(), bytes, Registration::Use::kWrite) {}

std::shared_ptr<Mirror> Mirrors::make(std::uint32_t segment, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  auto& mirror = mirrors_[segment];
  if (!mirror) mirror = std::make_shared<Mirror>(port_, bytes);
  return mirror;
}

void Mirrors::drop(std::uint32_t segment) {
  std::lock_guard lock(mutex_);
  const auto found = mirrors_.find(segment);
  if (found == mirrors_.end()) return;
  found->second->mark_gone();
  mirrors_.erase(found);
}

std::shared_ptr<Mirror> Mirrors::find(std::uint32_t segment) const {
  std::lock_guard lock(mutex_);
  const auto found = mirrors_.find(segment);
  return found == mirrors_.end() ? nullptr : found->second;
}

}  // namespace weft::ofi
