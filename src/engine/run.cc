#include "engine/run.h"

#include <algorithm>
#include <utility>

#include "weft/error.h"

namespace weft {

LaneState::LaneState(Endpoint& endpoint, int members)
    : endpoint(endpoint),
      adds_up_late(endpoint.takes_late()),
      with(static_cast<std::size_t>(members * kMaxChannels)) {}

[[gnu::hot]] Buffers buffers_of(const Binding& binding) {
  const std::size_t bytes = binding.part(Buffer::kOutput).total() * binding.element;
  std::byte* const output = binding.user[1];
  return {binding.where[0], binding.where[1], {output, output ? bytes : 0}};
}

// Ranks that write into others' outputs are written into by them.
[[gnu::hot]] std::span<std::byte> written_by_peers(const Binding& binding) {
  if (!binding.delivers) return {};
  const std::span<std::byte> output = buffers_of(binding).bytes;
  return output.size() > kInlineBytes ? output : std::span<std::byte>();
}

[[gnu::hot]] void check_not_aborted(const Endpoint& endpoint) {
  if (!endpoint.troubled()) [[likely]]
    return;
  const std::string why = endpoint.why_aborted();
  if (!why.empty()) throw Aborted(why);
}

[[gnu::hot]] void Run::start(const Binding& binding, LaneState& lane, int rank, std::byte* input) {
  binding_ = &binding;
  lane_ = &lane;
  rank_ = rank;
  user_ = {input, binding.user[1]};
  at_ = {};
  blocked_on_ = -1;
  read_in_place_ = false;
  unread_puts_.clear();
  out_.signature = binding.signature;
  out_.buffers = buffers_of(binding);
  full_.reset();
  if (std::exchange(knows_buffers_, false)) std::ranges::fill(peer_buffers_, PeerBuffers{});
  peer_buffers_.resize(static_cast<std::size_t>(binding.plan->shape.ranks));
  if (binding.plan->program.empty()) return;
  round_ = &rounds_.get(binding, rank, 0, 0);
}

[[gnu::hot]] inline bool Run::go(const ResolvedStep& now, std::size_t chunk) {
  blocked_on_ = -1;
  switch (now.verb) {
    case Verb::kCopy:
      return copy(now, chunk);
    case Verb::kReduce:
      return reduce(now, chunk);
    case Verb::kPut:
      return put(now, chunk);
    case Verb::kSignal:
      return signal(now);
    case Verb::kWait:
      return wait(now);
    case Verb::kCredit:
      credit(now);
      return true;
    case Verb::kFlush:
      return flushed();
    case Verb::kNative:
      return native();
  }
  throw InternalError("unknown verb");
}

[[gnu::hot]] bool Run::advance(Pace pace) {
  const Program& program = binding_->plan->program;
  paused_ = false;
  while (at_.section < program.size()) {
    const std::size_t end =
        pace == Pace::kFree ? round_->trips : std::min(at_.trip + 1, round_->trips);
    for (; at_.settle(*round_, end); ++at_.step)
      if (!go(round_->steps[at_.step], at_.chunk)) return false;
    if (at_.trip == round_->trips && at_.next_round(program))
      round_ = &rounds_.get(*binding_, rank_, at_.section, at_.round);
    paused_ = pace == Pace::kOneTrip && at_.section < program.size();
    if (paused_) return false;
  }
  if (!flushed()) return false;
  if (read_in_place_) confirm_reads();
  blocked_on_ = lane_->endpoint.end(Outcome::kDone);
  return blocked_on_ == Endpoint::kNobody;
}

bool Run::went() {
  const bool went = at_ != seen_at_ || unread_puts_.size() != seen_unread_;
  seen_at_ = at_;
  seen_unread_ = unread_puts_.size();
  return went;
}

void Run::refuse(const std::string& what) const {
  throw InvalidPlan("rank " + std::to_string(binding_->member(rank_)) + " " + what + " at " +
                    where() + ": the plan is wrong, prove it with verify() for these ranks");
}

std::string Run::where() const {
  const Program& program = binding_->plan->program;
  std::string text = describe(*binding_) + " (" + binding_->plan->shape.algorithm + ")";
  if (at_.section >= program.size()) return "the end of " + text;
  const Step& step = *round_->steps[at_.step].step;
  const auto number = &step - program[at_.section].steps.data() + 1;
  return "step " + std::to_string(number) + " \"" + to_text(step) + "\", chunk " +
         std::to_string(at_.chunk) + " of " + text;
}

}  // namespace weft
