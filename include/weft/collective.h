// The table of collectives: one row for each, and everything else asks it.
//
// To add a collective, write
//   1. its number in `Collective` (weft/types.h) and its row here;
//   2. what its result is, in the verifier (src/passes/verify/expect.cc);
//   3. an algorithm, and a row that chooses it (src/algorithms, src/select/builtin.cc);
//   4. its method in python/weft/collectives.py, and in `weft bench` its expected values
//      (bench/patterns.py) and its call of torch (bench/torch_calls.py).
// Nothing else names collectives one by one, except the bounds of `weft search` and the torch
// adapter. They support only the collectives that they name.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>

#include "weft/types.h"

namespace weft {

// The ranks that have an input, or an output.
enum class Holder : std::uint8_t {
  kNobody,
  kEveryone,
  kRoot,
  kSender,    // rank 0 of a pair
  kReceiver,  // rank 1 of a pair
};

// How a buffer is cut into blocks.
enum class Cutting : std::uint8_t {
  kNothing,   // there is no buffer
  kOne,       // one block
  kEachRank,  // one block for each rank; the caller may give their counts
  kFree,      // as the algorithm likes
};

constexpr bool holds(Holder holder, int rank, int root) {
  switch (holder) {
    case Holder::kNobody:
      return false;
    case Holder::kEveryone:
      return true;
    case Holder::kRoot:
      return rank == root;
    case Holder::kSender:
      return rank == 0;
    case Holder::kReceiver:
      return rank == 1;
  }
  return false;
}

struct SideTraits {
  Holder holder = Holder::kNobody;
  Cutting cutting = Cutting::kNothing;

  constexpr bool by_rank() const { return cutting == Cutting::kEachRank; }
  // -1: as the algorithm likes.
  constexpr int blocks(int ranks) const {
    switch (cutting) {
      case Cutting::kNothing:
        return 0;
      case Cutting::kOne:
        return 1;
      case Cutting::kEachRank:
        return ranks;
      case Cutting::kFree:
        return -1;
    }
    return 0;
  }
  // In a call with `count`, or with these counts if it gives any.
  std::size_t elements(std::size_t count, std::span<const std::size_t> counts, int ranks) const {
    if (cutting == Cutting::kNothing) return 0;
    if (!by_rank()) return count;
    if (counts.empty()) return count * static_cast<std::size_t>(ranks);
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }
};

struct CollectiveTraits {
  std::string_view name;
  bool reduces = false;  // it takes a reduction and, with kPremulSum, a scale
  SideTraits input, output;

  constexpr bool rooted() const {
    return input.holder == Holder::kRoot || output.holder == Holder::kRoot;
  }
  // Two ranks: a sender and a receiver.
  constexpr bool is_pair() const { return input.holder == Holder::kSender; }
  // False: ranks only meet.
  constexpr bool moves_data() const { return input.cutting != Cutting::kNothing; }
  // At least one side has a block for each rank, and the blocks' counts may differ.
  constexpr bool by_rank() const { return input.by_rank() || output.by_rank(); }
  // Both sides have, so that in place a block is overwritten by another rank's. A plan says if it
  // can do that (PlanShape::in_place). All other collectives can where a rank has both buffers: the
  // smaller one is then the own block of the larger.
  constexpr bool exchanges() const { return input.by_rank() && output.by_rank(); }
  // Every rank has an output as large as its input: it may pass one buffer as both.
  constexpr bool in_one_buffer() const {
    return output.holder == Holder::kEveryone && input.cutting == Cutting::kFree &&
           output.cutting == Cutting::kFree;
  }
  // So many ranks can all tell the bytes of the whole message from their own arguments. Elsewhere
  // counts may be given by one rank and not by another. In an exchange of two ranks both know what
  // crosses; if they send each other as much, twice that counts.
  constexpr bool has_known_size(int ranks) const {
    if (exchanges()) return ranks == 2;
    return input.cutting == Cutting::kFree || (by_rank() && !rooted());
  }
};

// In the order of `Collective`.
inline constexpr auto kCollectiveTraits = [] {
  using enum Holder;
  using enum Cutting;
  return std::array<CollectiveTraits, kCollectives>{{
      // name, reduces, input, output
      {"allreduce", true, {kEveryone, kFree}, {kEveryone, kFree}},
      {"broadcast", false, {kRoot, kFree}, {kEveryone, kFree}},
      {"reduce", true, {kEveryone, kFree}, {kRoot, kFree}},
      {"allgather", false, {kEveryone, kOne}, {kEveryone, kEachRank}},
      {"reduce_scatter", true, {kEveryone, kEachRank}, {kEveryone, kOne}},
      {"alltoall", false, {kEveryone, kEachRank}, {kEveryone, kEachRank}},
      {"gather", false, {kEveryone, kOne}, {kRoot, kEachRank}},
      {"scatter", false, {kRoot, kEachRank}, {kEveryone, kOne}},
      {"barrier", false, {kNobody, kNothing}, {kNobody, kNothing}},
      {"sendrecv", false, {kSender, kOne}, {kReceiver, kOne}},
  }};
}();

inline constexpr CollectiveTraits kNoCollective = {"unknown", false, {}, {}};

// Total: a report prints numbers that came from a peer.
constexpr const CollectiveTraits& traits_of(Collective collective) {
  const auto index = static_cast<std::size_t>(collective);
  return index < kCollectiveTraits.size() ? kCollectiveTraits[index] : kNoCollective;
}

}  // namespace weft
