#include "cost.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <vector>

namespace weft::torch_adapter {

namespace {

constexpr std::size_t kSmall = 8;        // bytes of a rank's part
constexpr std::size_t kLarge = 1 << 20;  // bytes of the larger buffer
constexpr int kTimes = 5;

// The shortest, after one to warm up: what else runs on the machine only adds. Microseconds.
double time_of(const std::function<void()>& operation) {
  operation();
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    operation();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  return *std::min_element(times.begin(), times.end());
}

bool has_blocks(Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
    case Collective::kReduceScatter:
    case Collective::kAlltoall:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    default:
      return false;
  }
}

// Bytes of the larger buffer, of the rank that has one.
double bytes_of(const Call& call, int size) {
  auto sum = [](auto counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  std::size_t elements =
      has_blocks(call.collective) ? call.count * static_cast<std::size_t>(size) : call.count;
  if (!call.input_counts.empty() || !call.output_counts.empty())
    elements = std::max(sum(call.input_counts), sum(call.output_counts));
  return static_cast<double>(elements * size_of(call.dtype));
}

// One way, as ranks 0 and 1 see it; nothing on the others.
double exchange(Communicator& communicator, std::byte* data, std::size_t bytes) {
  if (communicator.size() < 2 || communicator.rank() > 1) return 0;
  const int peer = 1 - communicator.rank();
  return time_of([&] {
           if (communicator.rank() == 0) communicator.send(data, bytes, DType::kU8, peer);
           communicator.recv(data, bytes, DType::kU8, peer);
           if (communicator.rank() == 1) communicator.send(data, bytes, DType::kU8, peer);
         }) /
         2;
}

}  // namespace

Costs Costs::measured(Communicator& communicator) {
  const int size = communicator.size();
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::byte> input(std::max(kLarge, kSmall * ranks)), output(input.size());
  std::vector<double> small(kCollectives), large(kCollectives);  // microseconds
  for (int i = 0; i < kCollectives; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto collective = static_cast<Collective>(i);
    if (collective == Collective::kSendRecv) {
      small[at] = exchange(communicator, input.data(), kSmall * ranks);
      large[at] = exchange(communicator, input.data(), kLarge);
      continue;
    }
    auto measure = [&](std::size_t bytes) {
      Call call{collective, input.data(), output.data(), bytes, DType::kU8};
      if (has_blocks(collective)) call.count /= ranks;
      if (collective == Collective::kBroadcast) call.output = input.data();
      if (collective == Collective::kBarrier) call = {};
      return time_of([&] { communicator.run(call); });
    };
    small[at] = measure(kSmall * ranks);
    large[at] = measure(kLarge);
  }
  for (auto* times : {&small, &large})
    communicator.allreduce(times->data(), times->data(), times->size(), DType::kF64,
                           ReduceOp::kMax);
  Costs costs;
  const double more = static_cast<double>(kLarge) - static_cast<double>(kSmall * ranks);
  for (std::size_t i = 0; i < costs.lines_.size(); ++i) {
    costs.lines_[i].latency = small[i];
    if (more > 0) costs.lines_[i].per_byte = std::max(0.0, large[i] - small[i]) / more;
  }
  return costs;
}

double Costs::of(const Job& job, int size) const {
  double microseconds = 0;
  auto add = [&](Collective collective, double bytes) {
    const Line& line = lines_[static_cast<std::size_t>(collective)];
    microseconds += line.latency + line.per_byte * bytes;
  };
  for (const Call& call : job.calls()) add(call.collective, bytes_of(call, size));
  for (const Transfer& transfer : job.transfers())
    add(Collective::kSendRecv, static_cast<double>(transfer.count * size_of(transfer.dtype)));
  return microseconds;
}

}  // namespace weft::torch_adapter
