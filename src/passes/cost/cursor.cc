#include "passes/cost/cursor.h"

#include <algorithm>

namespace weft::cost {
namespace {

std::size_t chunks(const Section& section, const Step& step, int round, const Cut& cut) {
  return section.chunked ? chunks_of(cut.size(step.extent, round), cut.chunk) : 1;
}

}  // namespace

Code::Code(const Program& program, const Cut& cut) : program_(&program) {
  for (const Section& section : program) {
    std::vector<std::size_t>& trips = trips_.emplace_back();
    for (int round = 0; round < section.rounds; ++round) {
      std::size_t most = 0;
      for (const Step& step : section.steps)
        most = std::max(most, chunks(section, step, round, cut) + step.lag);
      trips.push_back(most);
    }
  }
}

Cursor::Cursor(const Code& code, const Cut& cut) : code_(&code), cut_(&cut) { settle(); }

// Goes on to the next step that runs, from where the counters stand.
void Cursor::settle() {
  const Program& program = code_->program();
  for (; section_ < program.size(); ++section_, round_ = 0) {
    const Section& section = program[section_];
    for (; round_ < section.rounds; ++round_, trip_ = 0)
      for (; trip_ < code_->trips(section_, round_); ++trip_, at_ = 0)
        for (; at_ < section.steps.size(); ++at_) {
          step_ = &section.steps[at_];
          const std::size_t size = cut_->size(step_->extent, round_);
          // Before the step's first trip the difference wraps to something huge.
          const std::size_t chunk = trip_ - step_->lag;
          if (chunk >= (section.chunked ? chunks_of(size, cut_->chunk) : 1)) continue;
          count_ = section.chunked ? chunk_of(size, cut_->chunk, chunk).count : size;
          return;
        }
  }
  step_ = nullptr;
}

}  // namespace weft::cost
