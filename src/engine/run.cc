#include "engine/run.h"

#include <algorithm>

#include "weft/error.h"

namespace weft {

LaneState::LaneState(Endpoint& endpoint, int members)
    : endpoint(endpoint), streams(static_cast<std::size_t>(members * kMaxChannels)) {}

bool needs_slots(const Binding& binding) {
  std::size_t most = 0;
  for (const Channel& channel : binding.plan->shape.channels)
    most = std::max(most, binding.slot_bytes(channel));
  return most > kInlineBytes;
}

void check_not_aborted(const Endpoint& endpoint) {
  if (!endpoint.troubled()) [[likely]]
    return;
  const std::string why = endpoint.why_aborted();
  if (!why.empty()) throw Aborted(why);
}

void Run::start(const Binding& binding, LaneState& lane, int rank) {
  binding_ = &binding;
  lane_ = &lane;
  rank_ = rank;
  section_ = 0;
  round_ = 0;
  step_ = 0;
  trip_ = 0;
  blocked_on_ = -1;
  read_in_place_ = false;
  debts_.clear();
  const PlanShape& shape = binding.plan->shape;
  remote_.assign(static_cast<std::size_t>(shape.ranks), {});
  std::size_t base = 0;
  for (std::size_t c = 0; c < shape.channels.size(); ++c) {
    filled_[c].full = false;
    slot_base_[c] = base;
    base +=
        binding.slot_bytes(shape.channels[c]) * static_cast<std::size_t>(shape.channels[c].slots);
  }
  if (binding.plan->program.empty()) return;
  expose();
  enter_round();
}

// Whoever writes into others' outputs is written into by them.
void Run::expose() {
  const auto delivers = [](const Section& section) {
    return std::ranges::any_of(section.steps, [](const Step& step) {
      return step.verb == Verb::kPut && !step.dst.empty();
    });
  };
  const std::size_t bytes = binding_->part(Buffer::kOutput).total() * binding_->element;
  if (binding_->user[1] && bytes > kInlineBytes &&
      std::ranges::any_of(binding_->plan->program, delivers))
    lane_->endpoint.expose(binding_->user[1], bytes);
}

void Run::enter_round() {
  round_steps_.prepare(*binding_, section_, round_);
  trip_ = 0;
  step_ = 0;
}

bool Run::next_round() {
  const Program& program = binding_->plan->program;
  if (++round_ == program[section_].rounds) {
    round_ = 0;
    if (++section_ == program.size()) return false;
  }
  enter_round();
  return true;
}

bool Run::advance() {
  const std::size_t sections = binding_->plan->program.size();
  while (section_ < sections) {
    const std::vector<Prepared>& steps = round_steps_.steps;
    for (; trip_ < round_steps_.trips; ++trip_, step_ = 0) {
      for (; step_ < steps.size(); ++step_) {
        const Prepared& now = steps[step_];
        std::size_t chunk = trip_ - now.step->lag;  // wraps to huge before the step's first trip
        if (now.has(chunk) && !go(now, chunk)) return false;
      }
    }
    if (!next_round()) break;
  }
  if (!flushed() || !sent()) return false;
  if (read_in_place_) confirm_reads();
  lane_->endpoint.conceal();
  return true;
}

void Run::refuse(const std::string& what) const {
  throw InvalidPlan("rank " + std::to_string(binding_->member(rank_)) + " " + what + " at " +
                    where() + ": the plan is wrong, prove it with verify() for these ranks");
}

std::string Run::where() const {
  const Program& program = binding_->plan->program;
  std::string text = describe(*binding_) + " (" + binding_->plan->shape.algorithm + ")";
  if (section_ >= program.size()) return "the end of " + text;
  return "step " + std::to_string(step_ + 1) + " \"" + to_text(program[section_].steps[step_]) +
         "\", chunk " + std::to_string(trip_ - program[section_].steps[step_].lag) + " of " + text;
}

}  // namespace weft
