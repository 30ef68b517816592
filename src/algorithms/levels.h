// Levels: the direct exchange in a node and across nodes, of which collectives of two levels are
// made.
//
// For each share of the message (shares.h) that another node owns, a node has a deputy. The deputy
// adds up the node's part of that share and sends one sum across. It also spreads in the node what
// the owner sends. So every rank leads, and between two nodes each pair of local ranks talks.
//
// A node goes through its deputies' work in turns, a share a rank, the next node first. In a turn a
// rank sends what the next one needs, then takes what the previous one has sent. So no rank is more
// than two messages ahead of another, for any number of nodes. Chunks overlap: while sums of one
// cross, the next is added up in the node.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/phases.h"
#include "algorithms/shares.h"
#include "weft/builder.h"

namespace weft {

// The share that each place of a node works on, by its number; -1, or no entry: none.
using Turn = std::vector<int>;
// Its operand.
using PartOf = std::function<Operand(int share)>;

// Adds up the node's inputs, turn by turn. `summed` gets the sum that the own place makes, and
// sends or stores and releases it.
void sum_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                  const PartOf& input, const std::function<void(int share, Sum& sum)>& summed);
// Shares outputs in the node, turn by turn: `fetch` brings what the own place shares.
void share_in_turns(Builder& b, const Group& node, const std::vector<Turn>& turns, int channel,
                    const PartOf& output, const std::function<void(int share)>& fetch);

// In what type sums cross, by the plan's parameters, whose defaults are recorded: wide = 1, the
// accumulator type, or 0, the call's; wire = 1, the narrow one whatever wide says.
Width crossing_width(Builder& b, const Nodes& nodes);

// Reduce-scatter of the input's shares, one a rank.
class ReduceLevels {
 public:
  // In what type sums of nodes cross. Narrow: contributions do, too.
  ReduceLevels(Builder& b, const Shares& shares, Width crossing);
  // Sends what is others', and the node's sums.
  void send_contributions(Builder& b) const;
  // The sum of an own share: of the inputs of the own node, and one from each other node. A trip
  // later than send_contributions, shares in order.
  Sum collect(Builder& b, int share) const;

 private:
  Shares shares_;
  Group home_;
  std::vector<Turn> turns_;
  int near_ = -1, inner_ = -1;  // contributions to shares of the own node, and of others
  Wire across_;
};

// Allgather of the shares into the output.
class GatherLevels {
 public:
  // The type in which shares are sent, except within a node: plain or narrow.
  GatherLevels(Builder& b, const Shares& shares, Width width = Width::kPlain);
  // Whom an own share is sent to, and on which channel: the own node, and the deputies in others.
  std::vector<int> readers(int share) const;
  int channel() const { return channel_; }
  // All other shares. A trip later than the own ones were sent, in order.
  void gather(Builder& b) const;

 private:
  Shares shares_;
  Group home_;
  std::vector<Turn> turns_;
  int channel_ = -1, shared_ = -1;
};

}  // namespace weft
