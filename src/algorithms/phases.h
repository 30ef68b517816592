// Phases: what algorithms are made of.
//
// A phase writes its steps into the chunked section that is open. So phases written one after the
// other work chunk by chunk. A chunk passes all of them before the next chunk starts. Nothing is
// stored between them except in the plan's buffers. A phase runs on a Group. So the same function
// works for all ranks, the ranks of a node, or one rank of each node (allreduce_two_level.cc is
// only phases in phases).
//
// Steps of a phase are written in one order on all ranks ("hop" by hop). Each rank sends before it
// receives. No rank is more messages ahead of another than the trips that
// its stages lag by, and a few. That is why a few slots a channel are enough.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/trees.h"
#include "weft/builder.h"

namespace weft {

// The part of a sum over ranks that has reached this rank, not yet added up: for one chunk of
// one block, its terms in order. Adding up late costs one pass over memory, rounds once, and needs
// no memory for a partial sum: the sum goes straight into the slot or buffer that needs it.
// Messages among the terms are held (waited for, not credited) until `release`.
struct Sum {
  struct Received {
    int from;
    int channel;
  };

  Operand block;  // whose chunks these are
  std::vector<Operand> terms;
  std::vector<Received> held;
  Builder::Order order = Builder::kFromLeft;

  // One rank's contribution, as the caller gave it.
  bool plain() const { return terms.size() == 1 && held.empty(); }
};

// The two channels that summands travel on. Contributions are put, so that a fabric may read
// them where they lie; partial sums are written into wide slots, so that f16 and bf16 are not
// rounded on the way. Both may be one narrow channel, into whose slots contributions are rounded.
struct Wire {
  int plain = -1;
  int sums = -1;  // not needed (-1) if all that is sent is plain
};

// A sum of the one term `input`.
Sum own(const Operand& input);
// Sends what the sum adds up to, and says on which channel. Does not release.
int send(Builder& b, const Sum& sum, int to, const Wire& wire);
// Waits for the next message and makes it the last term.
void receive(Builder& b, Sum& sum, int from, int channel);
// Waits for the next message, keeps its payload, credits it.
void take(Builder& b, const Operand& output, int from, int channel);
// Puts a range of the own output into the same range of others' outputs.
void put_everywhere(Builder& b, const Operand& output, const std::vector<int>& to, int channel);
// output = scale * sum, the one place where a plan scales. Puts the result on to the outputs of
// `to`, if there are any. A copy writes a slot's lines without fetching them from the core that
// read them last. The stores of a reduction would fetch them. On a narrow channel it goes out, and
// stays
// here, as rounded into a slot. Releases.
void store(Builder& b, const Operand& output, const Sum& sum, const std::vector<int>& to = {},
           int channel = -1);
// Credits the messages among the terms.
void release(Builder& b, const Sum& sum);

// The ranks of the other places: the next one first, so that not all start with the same.
std::vector<int> others(const Group& group);
// The right neighbour, alone; nobody in a group of one.
std::vector<int> next_in(const Group& group);

// This rank's contribution to the block of `place`. Writes the steps that bring it about, so
// that one reduce-scatter can be another's contribution. A phase asks for each place once,
// for the own place last.
using Contribution = std::function<Sum(int place)>;

// Reduce-scatters: return the sum of the own place's block.
//
// Around a ring; size - 1 hops. A partial sum starts at the right neighbour of its owner and
// grows by one contribution a hop.
Sum ring_reduce_scatter(Builder& b, const Group& group, const Wire& wire, const Contribution& mine);
// Every rank sends to every other, 1 hop; the terms are in the order of places, so the result has
// the same bits on every rank that adds up.
Sum direct_reduce_scatter(Builder& b, const Group& group, const Wire& wire,
                          const Contribution& mine);
// Its two halves, for pipelines that put a lag between them. `collect` needs the channel
// that `send_contributions` used.
int send_contributions(Builder& b, const Group& group, const Wire& wire, const Contribution& mine);
Sum collect(Builder& b, const Group& group, int channel, const Contribution& mine);

// The own output operand for the block of `place`.
using BlockOf = std::function<Operand(int place)>;
// Called when the block of `place` is in the own output.
using Arrived = std::function<void(int place)>;

// Allgathers of one block a place. The caller has already sent the own block on `channel`, since it
// knows the source: to the right neighbour for the ring, to all others for direct.
void ring_allgather(Builder& b, const Group& group, int channel, const BlockOf& block,
                    const Arrived& arrived = {});
void direct_allgather(Builder& b, const Group& group, int channel, const BlockOf& block,
                      const Arrived& arrived = {});

// In step k a rank tells the one 2^k further, and hears from the one 2^k before. In once().
void disseminate(Builder& b, const Group& group, int channel);

// Broadcasts the root's input down a tree into the outputs, chunk by chunk.
void broadcast_down(Builder& b, const TreePlace& place, int channel);

}  // namespace weft
