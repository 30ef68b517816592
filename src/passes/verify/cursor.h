// A program counter: the steps of one rank in the order in which it runs them.
#pragma once

#include <cstddef>
#include <vector>

#include "passes/verify/report.h"
#include "passes/verify/scenario.h"

namespace weft::verifier {

class Cursor {
 public:
  Cursor() = default;
  // Stands on the first step. The run's plan and calls outlive the cursor.
  Cursor(const Run& run, int rank);

  // Null at the end of the program.
  const Step* step() const { return step_; }
  int round() const { return round_; }
  // The elements of the step's extent, and the part of them that is the current chunk; the
  // whole where the section is not chunked.
  std::size_t extent() const { return sizes_[at_]; }
  // The extent's size for all counts.
  Sum sum() const { return sums_[at_]; }
  Span span() const;
  void advance();
  // For reports. The run is the caller's to fill in.
  Place place() const;

 private:
  void enter_round();
  void settle();

  const Program* program_ = nullptr;
  const Scenario* scenario_ = nullptr;
  const Scenario* variables_ = nullptr;
  int rank_ = 0;
  std::size_t section_ = 0;
  int round_ = 0;
  std::size_t trip_ = 0, trips_ = 0, at_ = 0;
  std::vector<std::size_t> sizes_, chunks_;  // by step, in this round
  std::vector<Sum> sums_;
  const Step* step_ = nullptr;
};

}  // namespace weft::verifier
