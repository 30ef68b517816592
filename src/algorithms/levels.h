// Levels: the direct exchange in a node and across nodes, of which collectives of two levels are
// made.
//
// Block r is rank r's. For each rank of another node a node has a deputy (Nodes::deputy): it adds
// up the node's part of that rank's block and sends one sum across, and what that rank sends it
// shares in the node. So every rank leads, and between two nodes each pair of local ranks talks.
//
// A node goes through its deputies' work in turns, a block a rank, the next node first. In a turn
// ranks send what the one after needs, then take what the one before has sent: nobody is more than
// two messages ahead of another, whatever the number of nodes. Chunks overlap: while sums of one
// cross, the next is added up in the node.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/nodes.h"
#include "algorithms/phases.h"
#include "weft/builder.h"

namespace weft {

// The block that each place of a node works on, by place; shorter where there are no more.
using Turn = std::vector<int>;

// The ranks of all other nodes, each at its deputy's place.
std::vector<Turn> turns_across(const Nodes& nodes, int rank);

// Adds up the node's inputs, turn by turn. `summed` gets the sum of the own place's block, and
// sends or stores and releases it.
void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const std::function<void(int block, Sum& sum)>& summed);
// Shares blocks in the node, turn by turn: `fetch` brings the own place's block into the output.
void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const std::function<void(int block)>& fetch);

// In what type sums cross, by the plan's parameters, whose defaults are recorded: wide = 1, the
// accumulator type, or 0, the call's; wire = 1, the narrow one whatever wide says.
Width crossing_width(Builder& b, const Nodes& nodes);

// Reduce-scatter of the input's blocks, one a rank.
class ReduceLevels {
 public:
  // In what type sums of nodes cross. Narrow: contributions do, too.
  ReduceLevels(Builder& b, const Nodes& nodes, Width crossing);
  // Hands in what is others', and sends the node's sums.
  void hand_in(Builder& b) const;
  // The own block's sum: of the inputs of the own node, and one from each other node. A trip
  // later than hand_in.
  Sum collect(Builder& b) const;

 private:
  Nodes nodes_;
  Group home_;
  std::vector<Turn> turns_;
  int near_ = -1, inner_ = -1;  // contributions to blocks of the own node, and of others
  Wire across_;
};

// Allgather of the blocks, one a rank, into the output.
class GatherLevels {
 public:
  // In what type blocks are sent, but for those that a node shares: plain or narrow.
  GatherLevels(Builder& b, const Nodes& nodes, Width width = Width::kPlain);
  // Whom the own block is sent to, and on which channel: the own node, and the deputies in others.
  const std::vector<int>& listeners() const { return listeners_; }
  int channel() const { return channel_; }
  // All other blocks. A trip later than the own block was sent.
  void gather(Builder& b) const;

 private:
  Group home_;
  std::vector<Turn> turns_;
  std::vector<int> listeners_;
  int channel_ = -1, shared_ = -1;
};

}  // namespace weft
