#include "select/chunk.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

// A message to another node costs several microseconds, and no cache is shared with it.
constexpr std::size_t kLargestAcross = 256 << 10;
// Chunks if each wait for a chunk costs a context switch.
constexpr std::size_t kCrowdedChunk = 256 << 10;

// Bytes of a chunk for blocks of `block` bytes; 0: not known to all ranks.
std::size_t preferred_chunk(std::size_t block, const ChunkRule& rule) {
  if (rule.crowded) return kCrowdedChunk;
  if (block == 0) return rule.lengths.moved_chunk;
  // A block of a few chunks overlaps its stages; smaller ones are not worth a signal.
  const auto [least, most] = std::pair(rule.lengths.smallest_chunk, rule.lengths.largest_chunk);
  return std::clamp(block / 4, least, rule.across ? std::max(least, kLargestAcross) : most);
}

// A shorter part is not worth a second message.
constexpr std::size_t kLeastPart = 16 << 10;

// Half of a rail's part of a block, in whole cache lines: one is added up while the other comes.
std::size_t part_of(std::size_t block, int rails) {
  const std::size_t lines = static_cast<std::size_t>(rails) * 2 * 64;
  return std::max(kLeastPart, (block + lines - 1) / lines * 64);
}

}  // namespace

std::size_t chunk_elements(const PlanShape& shape, std::size_t block, std::size_t element,
                           std::size_t accumulator, std::size_t arena, const ChunkRule& rule) {
  std::size_t slots = 0, widest = element;
  for (const Channel& channel : shape.channels) {
    slots += static_cast<std::size_t>(channel.slots);
    if (channel.width == Width::kWide) widest = accumulator;
  }
  std::size_t bytes = rule.asked ? rule.asked : preferred_chunk(block * widest, rule);
  if (slots) bytes = std::min(bytes, arena / slots);
  if (rule.rails > 1 && block) bytes = std::min(bytes, part_of(block * widest, rule.rails));
  // Whole cache lines, so that the slots of a plan fit into the arena.
  bytes = std::max<std::size_t>(64, bytes / 64 * 64);
  return std::max<std::size_t>(1, bytes / widest);
}

}  // namespace weft
