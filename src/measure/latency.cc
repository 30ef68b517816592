#include "measure/latency.h"

#include <vector>

#include "measure/timing.h"

namespace weft::measuring {

double latency(Probe& probe, int a, int b, int trips, int times) {
  const bool first = probe.rank() == a;
  const int peer = first ? b : a;
  std::vector<double> taken;
  for (int time = -1; time < times; ++time) {  // once to warm up
    const double seconds = timed([&] {
      for (int trip = 0; trip < trips; ++trip) {
        if (first) probe.send(peer);
        probe.take(peer);
        if (!first) probe.send(peer);
      }
    });
    if (time >= 0) taken.push_back(seconds / (2 * trips));
  }
  return median(taken);
}

}  // namespace weft::measuring
