#include "plan/walk.h"

#include <algorithm>

namespace weft {
namespace {

bool same_sizes(const PreparedRound& a, const PreparedRound& b) {
  return std::ranges::equal(a.steps, b.steps, {}, &PreparedStep::elements, &PreparedStep::elements);
}

}  // namespace

PreparedProgram::PreparedProgram(const Program& program, const Partition& input,
                                 const Partition& output, std::size_t chunk)
    : program_(&program), chunk_(chunk) {
  PreparedRound next;
  for (const Section& section : program) {
    firsts_.push_back(numbers_.size());
    for (int round = 0; round < std::max(1, section.rounds); ++round) {
      next.prepare(section, round, input, output, chunk);
      if (round == 0 || !same_sizes(next, rounds_.back())) rounds_.push_back(next);
      numbers_.push_back(static_cast<std::uint32_t>(rounds_.size() - 1));
    }
  }
}

Cursor::Cursor(const PreparedProgram& program) : program_(&program) {
  if (program.program().empty()) return;
  round_ = &program.round(0, 0);
  settle();
}

void Cursor::settle() {
  while (!at_.settle(*round_, round_->trips)) {
    if (!at_.next_round(program_->program())) {
      now_ = nullptr;
      return;
    }
    round_ = &program_->round(at_.section, at_.round);
  }
  now_ = &round_->steps[at_.step];
}

}  // namespace weft
