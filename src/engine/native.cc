// The verb `native`: begun once, then tested each time the run goes on.
#include "engine/native.h"

#include <chrono>
#include <span>
#include <thread>
#include <vector>

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
  std::vector<std::byte> input, output;
  std::unique_ptr<NativeRun> run;
};

NativeStep::NativeStep(const Binding& binding, Endpoint& endpoint, int rank)
    : work_(std::make_unique<Work>()) {
  const std::span<std::byte> input = user_bytes(binding, Buffer::kInput);
  work_->input.assign(input.begin(), input.end());
  work_->output.resize(user_bytes(binding, Buffer::kOutput).size());
  work_->run = binding.natives->begin(
      {endpoint, binding.signature, binding.scale, rank, binding.plan->shape.ranks, work_->input,
       work_->output, binding.part(Buffer::kInput), binding.part(Buffer::kOutput)});
}

NativeStep::~NativeStep() {
  const auto deadline = Clock::now() + kLastWait;
  while (!ended_) {
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
    ended_ = work_->run->test();
  } catch (...) {
    ended_ = true;
    throw;
  }
  return ended_;
}

bool NativeStep::finish(const Binding& binding) {
  if (!test()) return false;
  kernels::copy(user_bytes(binding, Buffer::kOutput).data(), nullptr, work_->output.data(),
                work_->output.size());
  return true;
}

bool Run::native() {
  if (!native_) native_ = std::make_unique<NativeStep>(*binding_, lane_->endpoint, rank_);
  if (!native_->finish(*binding_)) return false;
  native_.reset();
  return true;
}

}  // namespace weft
