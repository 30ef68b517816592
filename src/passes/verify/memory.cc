#include "passes/verify/memory.h"

#include "weft/collective.h"

namespace weft::verifier {
Memory::Memory(const PlanShape& shape, const Scenario& scenario)
    : ranks_(static_cast<std::size_t>(shape.ranks)) {
  for (int rank = 0; rank < shape.ranks; ++rank) place(shape, scenario, rank);
  begins_.push_back(cells_.size());
}

void Memory::place(const PlanShape& shape, const Scenario& scenario, int rank) {
  std::size_t in = scenario.part(rank, Buffer::kInput).total();
  std::size_t out = scenario.part(rank, Buffer::kOutput).total();
  if (!has_input(shape, rank)) in = 0;
  if (!has_output(shape, rank)) out = 0;
  std::size_t base = cells_.size(), input = base, output = base + in, end = output + out;
  if (scenario.in_place[static_cast<std::size_t>(rank)]) {
    output = base;
    // A side that alone has a block for each rank holds the other.
    const CollectiveTraits& traits = traits_of(shape.collective);
    if (traits.output.by_rank() && !traits.input.by_rank())
      input += scenario.part(rank, Buffer::kOutput).offset(rank);
    if (traits.input.by_rank() && !traits.output.by_rank())
      output += scenario.part(rank, Buffer::kInput).offset(rank);
    end = base + std::max(in, out);
  }
  Cell untouched;
  untouched.write = unseen(rank);  // until its call begins
  cells_.resize(end, untouched);
  for (std::size_t i = 0; i < in; ++i)
    cells_[input + i].value = {Trees::leaf(rank), static_cast<std::uint32_t>(i)};
  begins_.push_back(base);
  bases_.push_back({input, output});
}

void Memory::start(const Access& by) {
  for (std::size_t i = begin(by.rank); i < begin(by.rank + 1); ++i) cells_[i].write = by;
}

Conflict Memory::written(const Cell& cell, const Access& by, const Clocks& clocks) const {
  if (cell.delivery == kNone && clocks.covers(by.rank, cell.write)) return {};
  return {cell.write, true};
}

void Memory::share(Cell& cell) {
  auto at = static_cast<std::uint32_t>(shared_reads_.size());
  shared_reads_.resize(shared_reads_.size() + ranks_);
  shared_reads_[at + static_cast<std::size_t>(cell.read.rank)] = cell.read;
  cell.reads = at;
}

Conflict Memory::read(Cell& cell, const Access& by, const Clocks& clocks) {
  Conflict conflict = written(cell, by, clocks);
  // A read that follows the last one stands for both: a write after it is after both.
  if (cell.reads == kNone && !clocks.covers(by.rank, cell.read)) share(cell);
  if (cell.reads == kNone)
    cell.read = by;
  else
    shared_reads_[cell.reads + static_cast<std::size_t>(by.rank)] = by;
  return conflict;
}

Conflict Memory::write(Cell& cell, const Access& by, const Clocks& clocks) {
  Conflict conflict = written(cell, by, clocks);
  if (cell.reads == kNone) {
    if (!clocks.covers(by.rank, cell.read)) conflict = {cell.read, false};
  } else {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (const Access& read = shared_reads_[cell.reads + rank]; !clocks.covers(by.rank, read))
        conflict = {read, false};
  }
  cell.write = by;
  cell.read = {};
  cell.reads = kNone;
  cell.delivery = kNone;
  return conflict;
}

void Memory::add_put(Cell& cell, MessageId message) {
  puts_.push_back({message, cell.puts});
  cell.puts = static_cast<std::uint32_t>(puts_.size() - 1);
}

}  // namespace weft::verifier
