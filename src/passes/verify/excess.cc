#include "passes/verify/excess.h"

#include <algorithm>
#include <cstdint>

#include "passes/verify/scenario.h"

namespace weft::verifier {
namespace {

constexpr std::int64_t kMostSlots = 1 << 16;
constexpr std::int64_t kMostStreams = 1 << 28;  // channels, from any rank to any
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

// The longest built-in plans take 20 accesses a rank, for each of their pieces, and have a block a
// rank.
std::int64_t most_accesses(std::int64_t ranks) {
  return std::max<std::int64_t>(1 << 16, 256 * ranks);
}
std::int64_t most_blocks(std::int64_t ranks) { return std::max<std::int64_t>(1 << 10, 8 * ranks); }

std::string too_much(std::int64_t count, const std::string& what, std::int64_t most,
                     const std::string& remedy) {
  if (count <= most) return {};
  return "the plan is too large: " + std::to_string(count) + " " + what + ", at most " +
         std::to_string(most) + ": " + remedy;
}

// Steps with their operands and peers, each as often as there are rounds: so much is done for each
// chunk. Saturates instead of overflowing.
std::int64_t accesses_of(const Program& program, std::int64_t most) {
  std::int64_t all = 0;
  for (const Section& section : program) {
    std::int64_t round = 0;
    for (const Step& step : section.steps)
      round += 1 + static_cast<std::int64_t>(step.dst.size() + step.src.size() + step.peers.size());
    all += round * std::max(section.rounds, 0);  // fewer than one is refused elsewhere
    if (all > most) break;
  }
  return all;
}

std::string excess_of_shape(const PlanShape& shape, std::int64_t trips) {
  const std::int64_t ranks = shape.ranks;
  const auto channels = static_cast<std::int64_t>(shape.channels.size());
  for (const Channel& channel : shape.channels)
    if (auto why = too_much(channel.slots, "slots of a channel", kMostSlots, "give fewer");
        !why.empty())
      return why;
  const std::int64_t blocks = std::max(shape.input_blocks, shape.output_blocks);
  if (auto why = too_much(blocks, "blocks", most_blocks(ranks), "cut into fewer"); !why.empty())
    return why;
  if (auto why = too_much(channels * ranks * ranks, "streams of messages", kMostStreams,
                          "verify it for fewer ranks");
      !why.empty())
    return why;
  return too_much(ranks * 2 * blocks * 2 * trips, "elements", kMostElements,
                  "give fewer blocks, lags or slots, or verify it for fewer ranks");
}

}  // namespace

std::string excess_of(const Plan& plan) {
  if (auto why = excess_of_shape(plan.shape, enough_trips(plan)); !why.empty()) return why;
  const std::int64_t most = most_accesses(plan.shape.ranks);
  for (std::size_t rank = 0; rank < plan.programs.size(); ++rank)
    if (auto why = too_much(accesses_of(plan.programs[rank], most),
                            "accesses of rank " + std::to_string(rank) + " for each chunk", most,
                            "write fewer rounds or steps");
        !why.empty())
      return why;
  return {};
}

}  // namespace weft::verifier
