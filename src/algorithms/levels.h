// Levels: the direct exchange in a node and across nodes, of which collectives of two levels are
// made.
//
// Each rank owns a part of the message, a block or some. For each rank of another node a node has a
// deputy (Nodes::deputy): it adds up what the node has for that rank's part and sends one sum
// across, and what that rank sends it shares in the node. So every rank leads, and between two
// nodes each pair of local ranks talks.
//
// A node goes through its deputies' work in turns, a part a rank, the next node first. In a turn
// ranks send what the one after needs, then take what the one before has sent: nobody is more than
// two messages ahead of another, whatever the number of nodes. Chunks overlap: while sums of one
// cross, the next is added up in the node.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/nodes.h"
#include "algorithms/pattern.h"
#include "algorithms/phases.h"
#include "weft/builder.h"

namespace weft {

// Who owns what, by rank.
using Parts = std::vector<BlockRange>;

// Block r is rank r's.
Parts block_each(const Nodes& nodes);
// Every node owns as much, whatever its ranks, and they share it. What a node sends and receives
// across grows with what it owns, so all links carry the same.
Parts equal_for_nodes(const Nodes& nodes);
int blocks_of(const Parts& parts);  // of the whole message

// Whose part each place of a node works on: a rank, or any number that the caller understands; -1,
// or no entry: nobody's.
using Turn = std::vector<int>;
// The operand for one of them.
using PartOf = std::function<Operand(int of)>;

// Adds up the node's inputs, turn by turn. `summed` gets the sum that the own place makes, and
// sends or stores and releases it.
void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const PartOf& input, const std::function<void(int of, Sum& sum)>& summed);
// Shares outputs in the node, turn by turn: `fetch` brings what the own place shares.
void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const PartOf& output, const std::function<void(int of)>& fetch);

// In what type sums cross, by the plan's parameters, whose defaults are recorded: wide = 1, the
// accumulator type, or 0, the call's; wire = 1, the narrow one whatever wide says.
Width crossing_width(Builder& b, const Nodes& nodes);

// Reduce-scatter of the input's parts, one a rank.
class ReduceLevels {
 public:
  // In what type sums of nodes cross. Narrow: contributions do, too.
  ReduceLevels(Builder& b, const Nodes& nodes, const Parts& parts, Width crossing);
  // Hands in what is others', and sends the node's sums.
  void hand_in(Builder& b) const;
  // The own part's sum: of the inputs of the own node, and one from each other node. A trip
  // later than hand_in.
  Sum collect(Builder& b) const;

 private:
  Operand input(Builder& b, int rank) const;

  Nodes nodes_;
  Parts parts_;
  Group home_;
  std::vector<Turn> turns_;
  int near_ = -1, inner_ = -1;  // contributions to blocks of the own node, and of others
  Wire across_;
};

// Allgather of the parts into the output.
class GatherLevels {
 public:
  // In what type parts are sent, but for those that a node shares: plain or narrow.
  GatherLevels(Builder& b, const Nodes& nodes, const Parts& parts, Width width = Width::kPlain);
  // Whom the own part is sent to, and on which channel: the own node, and the deputies in others.
  const std::vector<int>& listeners() const { return listeners_; }
  int channel() const { return channel_; }
  // All other parts. A trip later than the own one was sent.
  void gather(Builder& b) const;

 private:
  Parts parts_;
  Group home_;
  std::vector<Turn> turns_;
  std::vector<int> listeners_;
  int channel_ = -1, shared_ = -1;
};

}  // namespace weft
