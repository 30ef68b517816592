#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace weft::measuring {

// Seconds.
template <typename Work>
double timed(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The upper one of two in the middle; 0 of nothing.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weft::measuring
