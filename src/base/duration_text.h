// Times for messages to people.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace weft {

// "300 s", "0.5 s".
inline std::string duration_text(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) / 1000.0);
  return text;
}

}  // namespace weft
