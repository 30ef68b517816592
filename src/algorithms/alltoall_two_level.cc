// Two-level all-to-all: what a rank has for a node crosses in one message, and is delivered there.
//
// Four ranks, node = 2: nodes {0, 1} and {2, 3}. Rank 0:
//   across   puts its blocks for 2 and 3 to rank 2, as one message; gets those that rank 2 has for
//            0 and 1 into its output, where blocks 2 and 3 belong; exchanges with rank 1 directly;
//   inside   there block 2 is its own now, and block 3 rank 1's: sends it, and gets the block that
//            rank 1 holds for it, x3[0], in its place.
// Between a node of ma ranks and one of mb there are ma * mb blocks, in the order of senders and of
// receivers among them; each of the mb ranks takes in the next ma of them, as many as the senders'
// blocks in its output have room for. So no memory is needed besides, and no matter how large nodes
// are.
//
// With m ranks a node and k nodes: steps 2; k-1 messages of m blocks across a rank, in place of
// (k-1)m, for (k-1)(m-1) more inside; bytes (P-m)n across, k(m-1)n inside, of n a block. For small
// blocks. Counts must be equal, since a rank does not know those between others.
//
// Parameters node, place: which ranks share a node, as in nodes.h, consecutive ones; the largest
// node has at most eight times the ranks of the smallest.
//
// Source: Traeff, Rougier, "MPI Collectives and Datatypes for Hierarchical All-to-all
// Communication", EuroMPI/ASIA 2014, with every rank a leader.
#include <algorithm>

#include "algorithms/nodes.h"
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

// The blocks from node `from` to node `to`, numbered by sender, then by receiver.
struct Between {
  const Nodes& nodes;
  int from, to;

  int senders() const { return nodes.size(from); }
  int receivers() const { return nodes.size(to); }
  int sender(int place) const { return nodes.members(from)[static_cast<std::size_t>(place)]; }
  int receiver(int place) const { return nodes.members(to)[static_cast<std::size_t>(place)]; }

  // The blocks that the sender at one place gives to the receiver at another: consecutive blocks.
  struct Blocks {
    int input, output, count;  // first block there and here
  };
  Blocks blocks(int sent, int taken) const {
    const int first = std::max(sent * receivers(), taken * senders());
    const int last = std::min((sent + 1) * receivers(), (taken + 1) * senders());
    return {receiver(0) + first - sent * receivers(), sender(0) + first - taken * senders(),
            last - first};
  }
};

void send_across(Builder& b, const Between& between, int channel) {
  const int me = between.nodes.local(b.rank());
  for (int place = 0; place < between.receivers(); ++place)
    if (const auto blocks = between.blocks(me, place); blocks.count > 0)
      b.put(b.input(blocks.input, blocks.count), {between.receiver(place)}, channel);
}

void take_across(Builder& b, const Between& between, int channel) {
  const int me = between.nodes.local(b.rank());
  for (int place = 0; place < between.senders(); ++place)
    if (const auto blocks = between.blocks(place, me); blocks.count > 0)
      take(b, b.output(blocks.output, blocks.count), between.sender(place), channel);
}

// Sends the blocks that this rank has received to their owners. Everything is read before anything
// is written.
void deliver_in_node(Builder& b, const Between& between, int channel) {
  const int me = between.nodes.local(b.rank()), senders = between.senders(),
            receivers = between.receivers();
  const auto output = [&](int place) { return b.output(between.sender(0) + place); };
  const auto number = [&](int place) { return me * senders + place; };
  std::vector<int> up, down;  // own blocks that are to move to a later place, to an earlier one
  for (int place = 0; place < senders; ++place) {
    const int receiver = number(place) % receivers, sender = number(place) / receivers;
    if (receiver == me) {
      if (sender != place) (sender > place ? up : down).push_back(place);
      continue;
    }
    b.copy({b.slot(channel)}, output(place));
    b.signal({between.receiver(receiver)}, channel, output(place));
  }
  // They keep their order, so none moves to where another waits to be moved.
  std::reverse(up.begin(), up.end());
  for (const auto* moves : {&up, &down})
    for (int place : *moves) b.copy({output(number(place) / receivers)}, output(place));
  for (int place = 0; place < senders; ++place)
    if (const int holder = (place * receivers + me) / senders; holder != me)
      take(b, output(place), between.receiver(holder), channel);
}

void exchange(Builder& b, const Nodes& nodes, int channel) {
  const int home = nodes.of(b.rank());
  const Group mates = nodes.around(b.rank());
  for (int hop = 1; hop < nodes.count(); ++hop)
    send_across(b, {nodes, home, (home + hop) % nodes.count()}, channel);
  for (int mate : others(mates)) b.put(b.input(mate), {mate}, channel);
  b.copy({b.output(b.rank())}, b.input(b.rank()));
  b.lag(1);
  direct_allgather(b, mates, channel, [&](int place) { return b.output(mates.at(place)); });
  for (int hop = nodes.count() - 1; hop > 0; --hop)
    take_across(b, {nodes, (home + hop) % nodes.count(), home}, channel);
}

void write_alltoall_two_level(Builder& b) {
  const Nodes nodes = nodes_of(b);
  const int home = nodes.of(b.rank()), most = nodes.largest();
  b.equal_counts();
  // A rank's blocks for a node are cut into no more ranges than this.
  const int ranges = (most + nodes.least() - 1) / nodes.least() + 1;
  const int across = b.channel(3 * (most + nodes.count() * ranges));
  const int inside = most > 1 && nodes.count() > 1 ? b.channel(2 * most) : -1;
  b.chunks([&] { exchange(b, nodes, across); });
  for (int hop = 1; most > 1 && hop < nodes.count(); ++hop)
    b.chunks([&] { deliver_in_node(b, {nodes, (home + hop) % nodes.count(), home}, inside); });
}

std::string refuses_alltoall_two_level(int ranks, const Params& params) {
  if (auto why = refusal_of_nodes(ranks, params); !why.empty()) return why;
  const Nodes nodes = nodes_of(ranks, params);
  for (int node = 0; node < nodes.count(); ++node)
    if (nodes.members(node).back() - nodes.members(node).front() + 1 != nodes.size(node))
      return "the ranks of a node are not consecutive, so that what is sent to them is not one "
             "message: choose alltoall/direct or alltoall/pairwise";
  if (nodes.largest() <= kMailboxDepth * nodes.least()) return {};
  return "nodes of " + std::to_string(nodes.largest()) + " and of " +
         std::to_string(nodes.least()) + " ranks: give at most " + std::to_string(kMailboxDepth) +
         " times as many";
}

}  // namespace

Algorithm alltoall_two_level() {
  return {"alltoall/two_level", Collective::kAlltoall,
          "one message from a rank to a node, delivered there; 2 steps; small blocks of equal "
          "counts; parameters node, place; clusters (Traeff 2014)",
          write_alltoall_two_level, refuses_alltoall_two_level};
}

}  // namespace weft
