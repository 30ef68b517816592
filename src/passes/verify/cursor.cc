#include "passes/verify/cursor.h"

#include <algorithm>

namespace weft::verifier {

Cursor::Cursor(const Run& run, int rank)
    : program_(&run.plan->programs[static_cast<std::size_t>(rank)]),
      scenario_(run.scenario),
      variables_(run.variables),
      rank_(rank) {
  if (!program_->empty()) enter_round();
  settle();
}

void Cursor::enter_round() {
  const Section& section = (*program_)[section_];
  sizes_.clear();
  sums_.clear();
  chunks_.clear();
  trips_ = 0;
  for (const Step& step : section.steps) {
    sizes_.push_back(scenario_->size(rank_, step.extent, round_));
    sums_.push_back(variables_->size(rank_, step.extent, round_));
    chunks_.push_back(section.chunked ? chunks_of(sizes_.back(), kChunk) : 1);
    trips_ = std::max(trips_, chunks_.back() + step.lag);
  }
  trip_ = at_ = 0;
}

// Goes on to the next step that runs, from where the counters stand.
void Cursor::settle() {
  for (; section_ < program_->size();) {
    const Section& section = (*program_)[section_];
    for (; trip_ < trips_; ++trip_, at_ = 0)
      for (; at_ < section.steps.size(); ++at_) {
        step_ = &section.steps[at_];
        // Before the step's first trip the difference wraps to something huge.
        if (trip_ - step_->lag < chunks_[at_]) return;
      }
    if (++round_ == section.rounds) {
      round_ = 0;
      if (++section_ == program_->size()) break;
    }
    enter_round();
  }
  step_ = nullptr;
}

void Cursor::advance() {
  ++at_;
  settle();
}

Span Cursor::span() const {
  if (!(*program_)[section_].chunked) return {0, sizes_[at_]};
  return chunk_of(sizes_[at_], kChunk, trip_ - step_->lag);
}

Place Cursor::place() const {
  return {rank_, 0, static_cast<int>(section_), round_, trip_, static_cast<int>(at_)};
}

}  // namespace weft::verifier
