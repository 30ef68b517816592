// Reading the kernel's one-line files under /proc and /sys.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft {

// The lines of a file; none if it cannot be read.
inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The first line; empty if there is none.
inline std::string line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value after "key   :" in a file of such lines; empty if there is none.
inline std::string value_of(const std::filesystem::path& path, const std::string& key) {
  for (const std::string& line : lines_of(path)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto end = line.find_last_not_of(" \t", colon - 1);
    if (colon == 0 || line.substr(0, end + 1) != key) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

// "32 kB", "32K" and "260" in bytes.
inline std::size_t bytes_of(const std::string& text) {
  char* unit = nullptr;
  const std::size_t number = std::strtoull(text.c_str(), &unit, 10);
  while (*unit == ' ') ++unit;
  switch (*unit) {
    case 'k':
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return number;
  }
}

}  // namespace weft
