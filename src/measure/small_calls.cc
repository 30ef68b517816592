#include "measure/small_calls.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "measure/timing.h"
#include "weft/collective.h"
#include "weft/measure.h"
#include "weft/price.h"

namespace weft {

double seconds_of(Communicator& communicator, const Call& call, int times) {
  measuring::Probe probe(communicator, 1);
  return measuring::seconds_of(probe, call, times);
}

namespace measuring {

namespace {

// Bytes of this rank's input.
std::size_t input_bytes(const Call& call, int size) {
  if (!call.input) return 0;
  return traits_of(call.collective).input.elements(call.count, {}, size) * size_of(call.dtype);
}

}  // namespace

// Inputs are written by their owners each time: else what peers wrote into symmetric memory would
// lie in their caches still. The ranks meet by messages, not by a barrier. So nothing comes between
// two equal calls.
double seconds_of(Probe& probe, const Call& call, int times) {
  const std::size_t input = input_bytes(call, probe.size());
  std::vector<double> meetings, both;
  for (int i = -times / 4; i < times; ++i) {  // the first ones warm up
    std::memset(const_cast<void*>(call.input), 0, input);
    probe.meet();
    const double meeting = timed([&] { probe.meet(); });
    const double all = timed([&] {
      probe.communicator().run(call);
      probe.meet();
    });
    if (i < 0) continue;
    meetings.push_back(meeting);
    both.push_back(all);
  }
  double taken = std::max(0.0, median(both) - median(meetings));
  probe.communicator().allreduce(&taken, &taken, 1, DType::kF64, ReduceOp::kMax);
  return taken;
}

namespace {

constexpr std::size_t kBytes = 8;

struct Sample {
  double steps;  // on the critical path
  double rest;   // seconds that neither messages nor bytes explain
};

Sample sample(Probe& probe, Topology topology, std::string_view algorithm, int times) {
  std::vector<float> data(kBytes / sizeof(float) * static_cast<std::size_t>(probe.size()));
  Call call;
  call.collective = Collective::kAllreduce;
  call.input = call.output = data.data();
  call.count = kBytes / sizeof(float);
  call.dtype = DType::kF32;
  call.algorithm = algorithm;
  const double taken = seconds_of(probe, call, times);
  const double messages = price(algorithm, probe.size(), kBytes, topology).seconds;
  topology.step = 1e-9;
  const double stepped = price(algorithm, probe.size(), kBytes, topology).seconds;
  return {(stepped - messages) / topology.step, taken - messages};
}

// A call with a single step, of a rank by itself: the mean over the ranks. In a row, since one may
// take less than to look at the clock.
double time_alone(Probe& probe, int times) {
  constexpr int kInARow = 32;
  Communicator& all = probe.communicator();
  const auto solo = all.split(all.rank(), 0);
  float value = 0;
  const Call call{Collective::kAllreduce, &value, &value, 1, DType::kF32};
  std::vector<double> rows;
  for (int i = 0; i < times; ++i) {
    rows.push_back(timed([&] {
      for (int n = 0; n < kInARow; ++n) solo->run(call);
    }));
  }
  double taken = median(rows) / kInARow;
  all.allreduce(&taken, &taken, 1, DType::kF64, ReduceOp::kAvg);
  return taken;
}

}  // namespace

void fit_small_calls(Probe& probe, Topology& topology, int times) {
  const double alone = time_alone(probe, times);  // call + step
  if (probe.size() == 1) {
    topology.call = alone;  // what of it is the step's shows between ranks only
    return;
  }
  double samples = 0, steps = 0, rest = 0;
  for (const char* algorithm : {"allreduce/one_shot", "allreduce/two_shot", "allreduce/ring",
                                "allreduce/rabenseifner", "allreduce/multi_leader"}) {
    const Sample seen = sample(probe, topology, algorithm, times);
    samples += 1, steps += seen.steps, rest += seen.rest;
  }
  const double more = steps - samples;  // steps besides the first of each call
  topology.step = more > 0 ? std::clamp((rest - samples * alone) / more, 0.0, alone) : 0;
  topology.call = alone - topology.step;
}

}  // namespace measuring
}  // namespace weft
