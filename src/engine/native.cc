// The verb `native`: begun once, then tested each time the run goes on.
#include "engine/native.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <thread>

#include "engine/run.h"

namespace weft {
namespace {

constexpr std::chrono::seconds kLastWait{1};

// A rank without a buffer passes null.
std::span<std::byte> user_bytes(const Binding& binding, Buffer buffer) {
  std::byte* const data = binding.user[static_cast<std::size_t>(buffer)];
  const std::size_t bytes = binding.part(buffer).total() * binding.element;
  return {data, data ? bytes : 0};
}

}  // namespace

struct NativeStep::Work {
  struct Memory {
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;

    std::span<std::byte> take(std::size_t bytes) {
      if (capacity < bytes) data = std::make_unique_for_overwrite<std::byte[]>(capacity = bytes);
      return {data.get(), bytes};
    }
  };
  Memory input, output;
  std::unique_ptr<NativeRun> run;
};

NativeStep::NativeStep() : work_(std::make_unique<Work>()) {}

void NativeStep::begin(const Binding& binding, Endpoint& endpoint, int rank) {
  const std::span<std::byte> from = user_bytes(binding, Buffer::kInput);
  const std::span<std::byte> input = work_->input.take(from.size());
  kernels::copy(input.data(), from.data(), from.size(), kernels::To::kOwn);
  const auto output = work_->output.take(user_bytes(binding, Buffer::kOutput).size());
  work_->run = binding.natives->begin(
      {endpoint, binding.signature, binding.scale, rank, binding.plan->shape.ranks, input, output,
       binding.part(Buffer::kInput), binding.part(Buffer::kOutput)});
}

bool NativeStep::under_way() const { return work_->run != nullptr; }

NativeStep::~NativeStep() {
  const auto deadline = Clock::now() + kLastWait;
  while (under_way()) {
    try {
      if (test()) break;
    } catch (...) {  // it has ended, and the call has failed before
      break;
    }
    if (Clock::now() > deadline) {
      (void)work_.release();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool NativeStep::test() {
  try {
    if (!work_->run->test()) return false;
  } catch (...) {
    work_->run.reset();
    throw;
  }
  work_->run.reset();
  return true;
}

bool NativeStep::finish(const Binding& binding) {
  if (!test()) return false;
  const std::span<std::byte> output = user_bytes(binding, Buffer::kOutput);
  kernels::copy(output.data(), work_->output.data.get(), output.size(), kernels::To::kOwn);
  return true;
}

bool Run::native() {
  if (!native_) native_ = std::make_unique<NativeStep>();
  if (!native_->under_way()) native_->begin(*binding_, lane_->endpoint, rank_);
  return native_->finish(*binding_);
}

}  // namespace weft
