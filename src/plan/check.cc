#include "plan/check.h"

#include "plan/verbs.h"
#include "weft/collective.h"

#include <set>

namespace weft {
namespace {

std::string number(int value) { return std::to_string(value); }

std::string fault_of_rank(int rank, const StepPlace& place) {
  if (rank >= 0 && rank < place.shape.ranks) return {};
  return "names rank " + number(rank) + ", but ranks are 0 .. " + number(place.shape.ranks - 1);
}

std::string fault_of_channel(int channel, const StepPlace& place) {
  if (channel < static_cast<int>(place.shape.channels.size())) return {};
  return "uses channel " + number(channel) + ", which is not declared: call channel() first";
}

std::string fault_of_range(const Range& range, const StepPlace& place) {
  const PlanShape& shape = place.shape;
  int blocks = range.buffer == Buffer::kInput ? shape.input_blocks : shape.output_blocks;
  int first = range.block.base;
  if (range.blocks >= 1 && first >= 0 && first <= blocks - range.blocks) return {};
  return "names blocks " + number(first) + " .. " +
         std::to_string(std::int64_t{first} + range.blocks - 1) + " of the " +
         std::string(name_of(range.buffer)) + ", which has " + number(blocks) +
         ": name at least one block that is there, or declare more with blocks()";
}

std::string fault_of_operand(const Operand& operand, const StepPlace& place) {
  if (auto fault = fault_of_rank(operand.rank.base, place); !fault.empty()) return fault;
  if (operand.buffer != Buffer::kSlot) return fault_of_range(operand.range, place);
  if (!place.chunked) return "uses a slot in once(): a slot holds one chunk, so write chunks()";
  return fault_of_channel(operand.channel, place);
}

std::string fault_of_destination(const Operand& operand, const Step& step, const StepPlace& place) {
  bool own = operand.rank.base == place.rank;
  if (operand.buffer == Buffer::kInput)
    return "writes to an input, which is the caller's and only read: write to the output";
  if (step.verb != Verb::kPut && !own)
    return "writes to rank " + number(operand.rank.base) +
           ": only put(dst, src, to, channel) writes to another rank";
  if (step.verb == Verb::kPut && operand.buffer == Buffer::kSlot)
    return "names a slot as the destination of a put: leave the destination out";
  return {};
}

// A put's destinations are the addressees', in their order.
std::string fault_of_addresses(const Step& step) {
  if (step.verb != Verb::kPut || step.dst.empty()) return {};
  if (step.dst.size() != step.peers.size())
    return "puts to " + std::to_string(step.peers.size()) + " ranks with " +
           std::to_string(step.dst.size()) + " destinations: give one for each, or none";
  for (std::size_t i = 0; i < step.dst.size(); ++i)
    if (step.dst[i].rank != step.peers[i])
      return "puts to rank " + number(step.peers[i].base) + " into a buffer of rank " +
             number(step.dst[i].rank.base) + ": name the buffer with output_of(" +
             number(step.peers[i].base) + ", ...)";
  return {};
}

std::string fault_of_source(const Operand& operand, const Step& step, const StepPlace& place) {
  bool own = operand.rank.base == place.rank;
  if (operand.buffer == Buffer::kSlot && own)
    return "reads the own slot, which is only to be filled and sent: read what it was filled from";
  if (step.verb == Verb::kPut && operand.buffer == Buffer::kSlot)
    return "puts a received slot on, which may be credited before it is read: copy it into the "
           "own slot and signal";
  if (step.verb == Verb::kPut && !own)
    return "puts from a buffer of rank " + number(operand.rank.base) +
           ": copy from it, or put from an own buffer";
  return {};
}

std::string fault_of_peers(const Step& step, const StepPlace& place) {
  if (auto fault = fault_of_channel(step.channel, place); !fault.empty()) return fault;
  if (step.peers.empty()) return "has no destination: leave the step out";
  std::set<int> seen;
  for (const Index& peer : step.peers) {
    if (auto fault = fault_of_rank(peer.base, place); !fault.empty()) return fault;
    if (peer.base == place.rank)
      return "names this rank as its peer: copy within a rank, without a message";
    if (!seen.insert(peer.base).second) return "names rank " + number(peer.base) + " twice";
  }
  return {};
}

// copy, reduce and put: how many operands, and of equal size.
std::string fault_of_counts(const Step& step) {
  if (step.verb != Verb::kPut && (step.dst.empty() || step.dst.size() > 2))
    return "has " + std::to_string(step.dst.size()) + " destinations: give one or two";
  if (step.src.empty()) return "has no source: give at least one";
  if (step.extent.blocks == 0)
    return "moves from slot to slot: name with it, or among its operands, the input() or output() "
           "whose chunks these are";
  for (const auto* operands : {&step.dst, &step.src})
    for (const Operand& operand : *operands)
      if (operand.buffer != Buffer::kSlot && operand.range.blocks != step.extent.blocks)
        return "has ranges of " + number(step.extent.blocks) + " and of " +
               number(operand.range.blocks) + " blocks: give ranges of equal size";
  return {};
}

std::string fault_of_operands(const Step& step, const StepPlace& place) {
  for (const Operand& operand : step.dst) {
    if (auto fault = fault_of_operand(operand, place); !fault.empty()) return fault;
    if (auto fault = fault_of_destination(operand, step, place); !fault.empty()) return fault;
  }
  for (const Operand& operand : step.src) {
    if (auto fault = fault_of_operand(operand, place); !fault.empty()) return fault;
    if (auto fault = fault_of_source(operand, step, place); !fault.empty()) return fault;
  }
  return {};
}

// A step without a range has no chunks of its own, so in chunks() it would run with
// the first one only.
std::string fault_of_extent(const Step& step, const StepPlace& place) {
  if (step.extent.blocks != 0) return fault_of_range(step.extent, place);
  if (!place.chunked) return {};
  if (step.verb == Verb::kFlush) return "stands in chunks(): flush in a once() after them";
  return "has no range: name the operand whose chunks it goes with, or write it in once()";
}

}  // namespace

Range range_of(const Step& step) {
  for (const auto* operands : {&step.dst, &step.src})
    for (const Operand& operand : *operands)
      if (operand.buffer != Buffer::kSlot) return operand.range;
  return no_range();
}

std::string fault_of(const Step& step, const StepPlace& place) {
  const VerbTraits& verb = traits_of(step.verb);
  if (verb.peers != Peers::kNone)
    if (auto fault = fault_of_peers(step, place); !fault.empty()) return fault;
  if (verb.moves) {
    if (auto fault = fault_of_operands(step, place); !fault.empty()) return fault;
    if (auto fault = fault_of_addresses(step); !fault.empty()) return fault;
    if (auto fault = fault_of_counts(step); !fault.empty()) return fault;
  }
  if (step.lag > 0 && !place.chunked) return "lags in once(): only chunks can lag";
  if (step.verb == Verb::kPut && !place.chunked) return "sends a chunk from once(): write chunks()";
  if (verb.opaque && step.extent.blocks != 0)
    return "names a range, but takes the whole buffers: leave the range out";
  return fault_of_extent(step, place);
}

Blocks fixed_blocks(Collective collective, int ranks) {
  const CollectiveTraits& traits = traits_of(collective);
  return {traits.input.blocks(ranks), traits.output.blocks(ranks)};
}

}  // namespace weft
