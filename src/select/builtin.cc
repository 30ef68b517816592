// The table that Weft comes with. The first row that fits a call is taken.
#include <algorithm>
#include <string>

#include "algorithms/params.h"
#include "select/row.h"

namespace weft {
namespace {

// Above this many ranks one message to each costs more than passing it on, for some collectives.
constexpr int kDirectRanks = 16;
// From there to this number of ranks on one node: by prices (docs/selection.md).
constexpr int kManyOfANode = 256;
// Where ranks share cores each wait changes processes, so that small calls are quickest in one
// step. Measured up to this number of ranks (docs/results/many_ranks.md); allreduces of so many
// bytes.
constexpr int kOneStepRanks = 40;
constexpr std::size_t kOneStepBytes = 4 << 10;
constexpr std::size_t kWithMessageBytes = 448;     // come with the message: only messages count
constexpr std::size_t kGroupsBytes = 2 << 20;      // allreduce: below, groups add up for the others
constexpr std::size_t kOneSourceBytes = 64 << 10;  // broadcast: from here, all read from the root
constexpr std::size_t kAroundBytes = 512 << 10;    // reduce_scatter: from here, around a ring
// Across nodes, on links of 1 and 10 Gbit/s (docs/selection.md); the first limits as measured on
// two to four nodes, the others by prices. Below this a second crossing costs more than sending the
// whole message to and fro, which between two nodes is not more bytes. A message to another node
// costs several microseconds beside its bytes, so chunks are long.
constexpr std::size_t kOneCrossingBytes = 32 << 10, kOneCrossingOfTwoBytes = 256 << 10;
// From this number of ranks on, four ranks of a node lead. One would take too long to add up, and
// shares of every rank would be many short messages. By prices.
constexpr int kManyRanks = 16;
constexpr std::size_t kFourLeadersBytes = 128 << 10;
// When ranks share cores, each wait costs a context switch. The fewest messages win, up to this
// size.
constexpr std::size_t kFewMessagesBytes = 2 << 20, kHalvingBytes = 8 << 20;
// From here on a chain of nodes, which sends every byte once, is faster than a tree.
constexpr std::size_t kChainDownBytes = 32 << 10, kChainUpBytes = 512 << 10;

constexpr const char* kOneCrossing =
    "allreduce/multi_leader(leaders=1,inner=direct,outer=recursive_doubling,chunk=256K)";

// On one node: eight neighbours add up a share each; the sums then cross groups in log2 P/8 steps.
constexpr const char* kGroupsOfEight =
    "allreduce/multi_leader(node=8,leaders=8,inner=direct,outer=recursive_doubling)";

constexpr const char* kFourLeaders =
    "allreduce/multi_leader(leaders=4,inner=direct,outer=direct,chunk=256K)";

constexpr Extent<int> kAlone{1, 1};
constexpr Extent<int> kFew{1, kDirectRanks};
constexpr Extent<int> kMany{kDirectRanks + 1, kManyOfANode};
constexpr Extent<int> kOfANode{1, kManyOfANode};
constexpr Extent<int> kAny{};
constexpr Extent<std::size_t> kWithMessage{0, kWithMessageBytes};
constexpr Extent<std::size_t> kAll{};

Row row(Collective collective, Extent<int> ranks, Extent<std::size_t> bytes, const char* use) {
  return {collective, ranks, {}, bytes, {}, parse_choice(use)};
}

// For ranks on several nodes.
Row across(Collective collective, Extent<std::size_t> bytes, const char* use) {
  Row across = row(collective, kAny, bytes, use);
  across.nodes.from = 2;
  return across;
}

Row across(Collective collective, Extent<int> ranks, Extent<std::size_t> bytes, const char* use) {
  Row some = across(collective, bytes, use);
  some.ranks = ranks;
  return some;
}

// Only where ranks outnumber their cores.
Row where_crowded(Row row) {
  row.crowded = true;
  return row;
}

Row crowded(Extent<int> nodes, std::size_t below, const char* use) {
  Row few = across(Collective::kAllreduce, {0, below - 1}, use);
  few.nodes = nodes;
  return where_crowded(few);
}

Row not_for_half(Row row) {
  row.no_half = true;
  return row;
}

// Its sums are rounded once a step.
Row halving(int nodes) {
  return not_for_half(crowded({nodes, nodes}, kHalvingBytes,
                              "allreduce/multi_leader(leaders=1,inner=direct,outer=rabenseifner)"));
}

// For many ranks of one node.
Row within(Collective collective, Extent<std::size_t> bytes, const char* use) {
  Row within = row(collective, kMany, bytes, use);
  within.nodes.to = 1;
  return within;
}

// For those that share cores.
Row one_step(Collective collective, Extent<std::size_t> bytes, const char* use) {
  Row some = within(collective, bytes, use);
  some.ranks.to = kOneStepRanks;
  return where_crowded(some);
}

Row across_two(Collective collective, Extent<int> ranks, Extent<std::size_t> bytes,
               const char* use) {
  Row two = across(collective, ranks, bytes, use);
  two.nodes.to = 2;
  return two;
}

// For two ranks whose buffers are symmetric and outgrow the caches: the reader works on the other's
// buffer in place, so that a chunk costs only a message.
Row in_place(Collective collective, Extent<std::size_t> bytes, const char* use, std::size_t chunk) {
  Row two = row(collective, {2, 2}, bytes, use);
  two.symmetric = true;
  two.use.chunk = chunk;
  return two;
}

// All of a node read from the root.
constexpr const char* kOneSource = "broadcast/one_shot";

std::string one_source(std::size_t ahead, std::size_t chunk) {
  if (ahead == kNever) return kOneSource;
  const std::size_t most = 16;  // the plan's own
  return std::string(kOneSource) +
         "(slots=" + std::to_string(std::clamp<std::size_t>(ahead / chunk, 1, most)) + ")";
}

Row long_broadcast(const Lengths& lengths) {
  const std::size_t chunk = std::max<std::size_t>(lengths.long_broadcast_chunk, 1);
  Row past_caches = row(Collective::kBroadcast, kOfANode, {lengths.long_broadcast},
                        one_source(lengths.long_broadcast_ahead, chunk).c_str());
  past_caches.use.chunk = lengths.long_broadcast_chunk;
  return past_caches;
}

// Of one node.
Row allreduce_of_two(const Lengths& lengths, Extent<std::size_t> bytes, const char* use) {
  Row two = row(Collective::kAllreduce, {2, 2}, bytes, use);
  two.nodes.to = 1;
  two.use.chunk = lengths.allreduce_chunk;
  return two;
}

// For two ranks of one node whose buffers lie in ordinary memory and outgrow the caches: each is
// far ahead of what it takes.
Row long_exchange(Collective collective, const Lengths& lengths, const char* algorithm) {
  const auto ahead =
      std::clamp<std::size_t>(lengths.long_ahead / lengths.moved_chunk, 1, kMostAhead);
  const std::string use = std::string(algorithm) + "(" + kAhead + "=" + std::to_string(ahead) + ")";
  Row two = row(collective, {2, 2}, {lengths.long_exchange}, use.c_str());
  two.nodes.to = 1;
  two.symmetric = false;
  return two;
}

// For two ranks of one node that exchange little in ordinary memory, but blocks of more than one
// such chunk; for none if the model has no chunk for it.
Row short_exchange(Collective collective, const Lengths& lengths, const char* use) {
  Row two =
      row(collective, {2, 2}, {2 * lengths.exchange_chunk + 1, lengths.exchange_chunk_to}, use);
  two.nodes.to = 1;
  two.symmetric = false;
  two.use.chunk = lengths.exchange_chunk;
  return two;
}

// For two ranks of one node: each loads its blocks from the other's symmetric memory, so that no
// slot has to hold a chunk.
Row loaded(Collective collective, const Lengths& lengths, const char* use) {
  Row two = in_place(collective, kAll, use, lengths.loaded_chunk);
  two.nodes.to = 1;
  return two;
}

constexpr bool kOrdinary = false, kSymmetric = true;

Row of(bool memory, Row row) {
  row.symmetric = memory;
  return row;
}

Extent<std::size_t> below(std::size_t bytes) { return {0, bytes - 1}; }

}  // namespace

std::vector<Row> builtin_rows(const Lengths& lengths) {
  using C = Collective;
  // Rows for several nodes come first. Each fits every placement of ranks, except tree_levels, the
  // reproducible one.
  // After those for few ranks come those for any; of these a reproducible communicator takes the
  // last, where each rank adds up a block of all inputs, or one_shot of small ones where ranks
  // share cores. All others have partial sums of their own.
  return {
      across_two(C::kAllreduce, {0, kManyRanks - 1}, below(kOneCrossingOfTwoBytes), kOneCrossing),
      across(C::kAllreduce, below(kOneCrossingBytes), kOneCrossing),
      halving(4),
      halving(8),
      crowded({3}, kFewMessagesBytes,
              "allreduce/multi_leader(leaders=1,inner=direct,outer=direct)"),
      across(C::kAllreduce, {kManyRanks}, below(kFourLeadersBytes), kFourLeaders),
      across_two(C::kAllreduce, {2, 2}, kAll, "allreduce/two_level(chunk=1M)"),
      across(C::kAllreduce, kAll, "allreduce/two_level(chunk=512K)"),
      across(C::kAllreduce, kAll, "allreduce/tree_levels"),
      across(C::kBroadcast, below(kChainDownBytes),
             "broadcast/two_level(outer=knomial,inner=direct)"),
      across(C::kBroadcast, kAll, "broadcast/two_level(outer=chain,inner=direct)"),
      across(C::kReduce, below(kChainUpBytes), "reduce/two_level(leaders=1)"),
      across(C::kReduce, kAll, "reduce/two_level(outer=chain)"),
      across(C::kAllgather, kAll, "allgather/two_level"),
      across(C::kReduceScatter, kAll, "reduce_scatter/two_level"),
      across(C::kBarrier, kAll, "barrier/two_level"),
      in_place(C::kAllreduce, {std::max(lengths.allreduce_in_place, lengths.long_in_place)},
               "allreduce/direct", lengths.long_in_place_chunk),
      in_place(C::kAllreduce, {lengths.allreduce_in_place}, "allreduce/direct",
               lengths.allreduce_in_place_chunk),
      in_place(C::kReduce, {lengths.reduce_in_place}, "reduce/direct",
               lengths.reduce_in_place_chunk),
      in_place(C::kBroadcast, {lengths.broadcast_in_place}, "broadcast/one_shot",
               lengths.broadcast_in_place_chunk),
      row(C::kAllreduce, kAlone, kAll, "allreduce/one_shot"),
      of(kOrdinary, allreduce_of_two(lengths, {1, lengths.one_shot_of_two}, "allreduce/one_shot")),
      of(kOrdinary, row(C::kAllreduce, kFew, {0, lengths.one_shot}, "allreduce/one_shot")),
      of(kSymmetric,
         row(C::kAllreduce, kFew, {0, lengths.symmetric_one_shot}, "allreduce/one_shot")),
      allreduce_of_two(lengths, {1, lengths.allreduce_chunk_to}, "allreduce/two_shot"),
      row(C::kAllreduce, kFew, kAll, "allreduce/two_shot"),
      one_step(C::kAllreduce, {0, kOneStepBytes}, "allreduce/one_shot"),
      within(C::kAllreduce, kWithMessage, "allreduce/recursive_doubling"),
      // Its sums are rounded once a step.
      not_for_half(within(C::kAllreduce, below(kGroupsBytes), kGroupsOfEight)),
      within(C::kAllreduce, kAll, "allreduce/two_level(node=4)"),
      row(C::kAllreduce, kAny, kAll, "allreduce/ring"),
      row(C::kAllreduce, kAny, kAll, "allreduce/two_shot"),
      one_step(C::kBroadcast, {kWithMessageBytes + 1}, kOneSource),
      within(C::kBroadcast, below(kOneSourceBytes), "broadcast/knomial(radix=8)"),
      where_crowded(row(C::kBroadcast, kOfANode, kAll, kOneSource)),
      long_broadcast(lengths),
      row(C::kBroadcast, kOfANode, kAll,
          one_source(lengths.broadcast_ahead, lengths.largest_chunk).c_str()),
      row(C::kBroadcast, kAny, kAll, "broadcast/knomial"),
      row(C::kReduce, kFew, kAll, "reduce/direct"),
      one_step(C::kReduce, kWithMessage, "reduce/direct"),
      row(C::kReduce, kAny, kAll, "reduce/binomial"),
      row(C::kReduce, kAny, kAll, "reduce/direct"),
      long_exchange(C::kAllgather, lengths, "allgather/direct"),
      short_exchange(C::kAllgather, lengths, "allgather/direct"),
      loaded(C::kAllgather, lengths, "allgather/direct"),
      row(C::kAllgather, kFew, kAll, "allgather/direct"),
      within(C::kAllgather, kAll, "allgather/direct"),
      row(C::kAllgather, kAny, kAll, "allgather/ring"),
      long_exchange(C::kReduceScatter, lengths, "reduce_scatter/direct"),
      short_exchange(C::kReduceScatter, lengths, "reduce_scatter/direct"),
      loaded(C::kReduceScatter, lengths, "reduce_scatter/direct"),
      row(C::kReduceScatter, kFew, kAll, "reduce_scatter/direct"),
      where_crowded(within(C::kReduceScatter, kAll, "reduce_scatter/direct")),
      within(C::kReduceScatter, below(kAroundBytes), "reduce_scatter/direct"),
      row(C::kReduceScatter, kAny, kAll, "reduce_scatter/ring"),
      row(C::kReduceScatter, kAny, kAll, "reduce_scatter/direct"),
      long_exchange(C::kAlltoall, lengths, "alltoall/direct"),
      short_exchange(C::kAlltoall, lengths, "alltoall/direct"),
      loaded(C::kAlltoall, lengths, "alltoall/direct"),
      row(C::kAlltoall, kFew, kAll, "alltoall/direct"),
      within(C::kAlltoall, kAll, "alltoall/direct"),
      row(C::kAlltoall, kAny, kAll, "alltoall/pairwise"),
      row(C::kGather, kAny, kAll, "gather/direct"),
      row(C::kScatter, kAny, kAll, "scatter/direct"),
      row(C::kBarrier, kAny, kAll, "barrier/dissemination"),
      row(C::kSendRecv, kAny, kAll, "sendrecv/stream"),
  };
}

}  // namespace weft
