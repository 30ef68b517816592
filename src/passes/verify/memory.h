// The user buffers of all ranks in one call, element by element, with who wrote and who
// read each last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "passes/verify/clocks.h"
#include "passes/verify/scenario.h"
#include "passes/verify/values.h"

namespace weft::verifier {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Number of a message in the value domain.
using MessageId = std::uint32_t;

struct Cell {
  Value value;
  Access write;                 // the last one, of the caller too
  Access read;                  // since then, where one says it all
  std::uint32_t reads = kNone;  // else where in Memory the last read of each rank is
  std::uint32_t puts = kNone;   // list of puts that may still read this cell
  Event writer = kNoEvent;      // the step that wrote the value; none: it was there before
  MessageId delivery = kNone;   // a one-sided put that its target has not received yet
};

// An access that is not ordered after an earlier one.
struct Conflict {
  Access with;
  bool write = false;  // what the earlier one was
  explicit operator bool() const { return with.rank >= 0; }
};

// Not thread safe.
class Memory {
 public:
  // Inputs hold their ranks' contributions, outputs nothing. In place, both names of an
  // element are one cell.
  Memory(const PlanShape& shape, const Scenario& scenario);

  std::size_t address(int rank, Buffer buffer, std::size_t element) const {
    return bases_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(buffer)] + element;
  }
  // All cells of a rank: begins_[rank] .. begins_[rank + 1] - 1.
  std::size_t begin(int rank) const { return begins_[static_cast<std::size_t>(rank)]; }
  Cell& operator[](std::size_t cell) { return cells_[cell]; }
  const Cell& operator[](std::size_t cell) const { return cells_[cell]; }

  // Hands a rank's buffers to the plan: until then nobody may touch them.
  void start(const Access& by);
  // Records the access and returns what it races with, if anything.
  Conflict read(Cell& cell, const Access& by, const Clocks& clocks);
  Conflict write(Cell& cell, const Access& by, const Clocks& clocks);

  // Puts that may still read a cell.
  void add_put(Cell& cell, MessageId message);
  // Empties the list, calling `check` with each of them.
  template <typename Check>
  void take_puts(Cell& cell, Check&& check) {
    for (std::uint32_t at = cell.puts; at != kNone; at = puts_[at].next) check(puts_[at].message);
    cell.puts = kNone;
  }

 private:
  void place(const PlanShape& shape, const Scenario& scenario, int rank);
  Conflict written(const Cell& cell, const Access& by, const Clocks& clocks) const;
  void share(Cell& cell);

  struct PutNode {
    MessageId message;
    std::uint32_t next;
  };
  std::size_t ranks_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> begins_;
  std::vector<std::array<std::size_t, 2>> bases_;  // by rank and buffer
  std::vector<Access> shared_reads_;               // `ranks_` for each cell that needs them
  std::vector<PutNode> puts_;
};

}  // namespace weft::verifier
