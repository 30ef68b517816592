// A collective call from Python, checked and turned into a weft::Call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "weft/communicator.h"

using Counts = std::optional<std::vector<std::size_t>>;

// The arguments that Python passes for every collective; what does not apply keeps its default.
struct CallArguments {
  std::string collective;
  nb::object input;   // None where this rank has none
  nb::object output;  // None where this rank has none
  std::size_t count = 0;
  std::string op = "sum";
  int root = 0;
  double scale = 1.0;
  Counts input_counts;
  Counts output_counts;
  std::string algorithm;
  bool symmetric = false;
  double timeout = 0.0;  // seconds
};

// The call and all that it points to.
struct BoundCall {
  weft::Call call;
  Array input;
  Array output;
  std::vector<std::size_t> input_counts;
  std::vector<std::size_t> output_counts;
  std::string algorithm;

  // `call`, pointing at the members above where they lie now.
  const weft::Call& attach();
};

// Seconds as the C++ interface counts time; never rounded down to zero, which means "default".
std::chrono::milliseconds milliseconds(double seconds);

// Throws InvalidArgument naming the rank, the collective and the argument, so that no
// buffer is ever read or written past its end.
BoundCall bind_call(const CallArguments& arguments, int rank, int size);
