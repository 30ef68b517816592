#include "fabric/shmem/pipe.h"

#include <algorithm>
#include <utility>

#include "kernels/copy.h"

namespace weft::shmem {

void Duplex::join(Counts* counts, std::byte* data) {
  out_ = {counts, data};
  near_ = {static_cast<Counts*>(shmem_.reach(counts, pe_)),
           static_cast<std::byte*>(shmem_.reach(data, pe_))};
}

std::size_t Duplex::room() const {
  return bytes_ - (written_ - in_->taken.load(std::memory_order_acquire));
}

void Duplex::write(const void* data, std::size_t bytes) {
  const std::size_t at = written_ % bytes_;
  const std::size_t first = std::min(bytes, bytes_ - at);
  const auto* const rest = static_cast<const std::byte*>(data) + first;
  written_ += bytes;
  if (near()) {
    kernels::copy(near_.data + at, data, first, kernels::To::kSlot);
    kernels::copy(near_.data, rest, bytes - first, kernels::To::kSlot);
    near_.counts->put.store(written_, std::memory_order_release);
    return;
  }
  auto* const flag = reinterpret_cast<std::uint64_t*>(&out_.counts->put);
  if (first == bytes) return shmem_.put_signal(out_.data + at, data, bytes, flag, bytes, pe_);
  shmem_.put(out_.data + at, data, first, pe_);
  shmem_.fence();
  shmem_.put_signal(out_.data, rest, bytes - first, flag, bytes, pe_);
}

std::size_t Duplex::waiting() const { return in_->put.load(std::memory_order_acquire) - read_; }

void Duplex::read(void* into, std::size_t bytes) {
  const std::size_t at = read_ % bytes_;
  const std::size_t first = std::min(bytes, bytes_ - at);
  kernels::copy(into, in_data_ + at, first, kernels::To::kOwn);
  kernels::copy(static_cast<std::byte*>(into) + first, in_data_, bytes - first, kernels::To::kOwn);
  read_ += bytes;
}

void Duplex::tell() {
  const std::uint64_t news = read_ - told_;
  if (news == 0 || !out_.counts) return;  // before join() nobody can be told
  told_ = read_;
  if (near())
    near_.counts->taken.store(read_, std::memory_order_release);
  else
    shmem_.add(reinterpret_cast<std::uint64_t*>(&out_.counts->taken), news, pe_);
}

// A far peer's collective ends when its messages were taken.
void Duplex::tell_if_due() {
  if (near() ? read_ - told_ >= bytes_ / 4 : waiting() == 0) tell();
}

}  // namespace weft::shmem
