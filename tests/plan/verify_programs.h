// Small plans written by hand, for the tests of the verifier.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/builder.h"
#include "weft/registry.h"
#include "weft/verify.h"

namespace weft::programs {

using Write = std::function<void(Builder&)>;

inline constexpr auto kAllreduce = Collective::kAllreduce;
inline constexpr auto kBroadcast = Collective::kBroadcast;

// Of a test's parameter that has a name.
inline constexpr auto name_of_row = [](const auto& info) { return std::string(info.param.name); };

inline Plan plan_of(Collective collective, int ranks, const Write& write, Params params = {}) {
  Algorithm algorithm;
  algorithm.name = std::string(name_of(collective)) + "/test";
  algorithm.collective = collective;
  algorithm.write = write;
  Plan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan one = make_rank_plan(algorithm, rank, ranks, params);
    plan.shape = one.shape;
    plan.programs.push_back(one.program);
  }
  return plan;
}

inline std::vector<int> others(const Builder& b) {
  std::vector<int> ranks;
  for (int i = 1; i < b.ranks(); ++i) ranks.push_back((b.rank() + i) % b.ranks());
  return ranks;
}

// Each rank sends its input to all and adds what it gets, in the order of the ranks.
inline void one_shot(Builder& b) {
  int ch = b.channel(2);
  b.chunks([&] {
    std::vector<Operand> sources;
    for (int rank = 0; rank < b.ranks(); ++rank)
      sources.push_back(rank == b.rank() ? b.input() : b.slot(rank, ch));
    if (b.ranks() > 1) {
      b.copy({b.slot(ch)}, b.input());
      b.signal(others(b), ch, b.input());
    }
    for (int peer : others(b)) b.wait(peer, ch, b.input());
    b.reduce({b.output()}, sources, Builder::kLast);
    for (int peer : others(b)) b.credit(peer, ch, b.input());
  });
}

// Block r is reduced on rank r and sent from there; three stages, a trip apart.
inline void two_shot(Builder& b) {
  int ranks = b.ranks(), me = b.rank();
  b.blocks(ranks, ranks);
  int parts = b.channel(2 * ranks), sums = b.channel(2);
  b.chunks([&] {
    for (int peer : others(b)) {
      b.copy({b.slot(parts)}, b.input(peer));
      b.signal({peer}, parts, b.input(peer));
    }
    b.lag(1);
    std::vector<Operand> sources = {b.input(me)};
    for (int peer : others(b)) {
      b.wait(peer, parts, b.input(me));
      sources.push_back(b.slot(peer, parts));
    }
    b.reduce({b.output(me), b.slot(sums)}, sources, Builder::kLast);
    b.signal(others(b), sums, b.output(me));
    for (int peer : others(b)) b.credit(peer, parts, b.input(me));
    b.lag(2);
    for (int peer : others(b)) {
      b.wait(peer, sums, b.output(peer));
      b.copy({b.output(peer)}, b.slot(peer, sums));
      b.credit(peer, sums, b.output(peer));
    }
  });
}

// Root 0 to 1 to 2 ...; each passes a chunk on while the next one comes.
inline void chain_broadcast(Builder& b) {
  b.param("root", 0);
  int ch = b.channel(2), me = b.rank(), last = b.ranks() - 1;
  b.chunks([&] {
    if (me == 0) {
      b.copy({b.output()}, b.input());
      if (last > 0) b.put(b.input(), {1}, ch);
      return;
    }
    b.wait(me - 1, ch, b.output());
    if (me == last) {
      b.copy({b.output()}, b.slot(me - 1, ch));
    } else {
      b.copy({b.output(), b.slot(ch)}, b.slot(me - 1, ch));
      b.signal({me + 1}, ch, b.output());
    }
    b.credit(me - 1, ch, b.output());
  });
}

// A message without payload from and to everybody.
inline void meet(Builder& b, int ch) {
  b.once([&] {
    b.signal(others(b), ch);
    for (int peer : others(b)) b.wait(peer, ch);
    for (int peer : others(b)) b.credit(peer, ch);
  });
}

// Rank r sums block r of all inputs where they lie, then sends it. That a sum comes says that
// its rank has read all it reads: no acknowledgement is needed.
inline void direct(Builder& b) {
  b.blocks(b.ranks(), b.ranks());
  int ready = b.channel(1), sums = b.channel(2), me = b.rank();
  meet(b, ready);
  b.chunks([&] {
    std::vector<Operand> sources;
    for (int rank = 0; rank < b.ranks(); ++rank) sources.push_back(b.input_of(rank, me));
    b.reduce({b.output(me)}, sources, Builder::kLast);
  });
  b.chunks([&] {
    b.put(b.output(me), others(b), sums);
    for (int peer : others(b)) {
      b.wait(peer, sums, b.output(peer));
      b.copy({b.output(peer)}, b.slot(peer, sums));
      b.credit(peer, sums, b.output(peer));
    }
  });
}

// All copy the root's input where it lies: ready, copy, acknowledge. `omit` leaves out the
// ready signal, or rank 1's acknowledgement.
enum class Omit { kNothing, kReady, kAcknowledge };
inline Write pull_broadcast(Omit omit) {
  return [omit](Builder& b) {
    b.param("root", 0);
    int ch = b.channel(1);
    auto acknowledges = [&](int rank) { return omit != Omit::kAcknowledge || rank != 1; };
    b.once([&] {
      if (b.rank() != 0) {
        if (omit != Omit::kReady) b.wait(0, ch);
        b.copy({b.output()}, b.input_of(0));
        if (acknowledges(b.rank())) b.signal({0}, ch);
        if (omit != Omit::kReady) b.credit(0, ch);
        return;
      }
      if (omit != Omit::kReady) b.signal(others(b), ch);
      b.copy({b.output()}, b.input());
      for (int peer : others(b))
        if (acknowledges(peer)) b.wait(peer, ch);
      for (int peer : others(b))
        if (acknowledges(peer)) b.credit(peer, ch);
    });
  };
}

// Rank 0 puts to 1 and 2, rank 2 sums and tells, rank 1 only looks. When in place rank 0
// gets the sum, it writes what rank 1 may still look at, unless it has flushed.
inline Write silent_reader(bool flush) {
  return [flush](Builder& b) {
    int in = b.channel(2), out = b.channel(2), me = b.rank();
    b.chunks([&] {
      if (me == 0) b.put(b.input(), {1, 2}, in);
      if (me == 1) b.put(b.input(), {2}, in);
      if (me > 0) b.wait(0, in, b.input());
      if (me == 2) {
        b.wait(1, in, b.input());
        b.reduce({b.output()}, {b.slot(0, in), b.slot(1, in), b.input()}, Builder::kLast);
        b.credit(1, in, b.input());
      }
      if (me > 0) b.credit(0, in, b.input());
    });
    if (me == 0 && flush) b.once([&] { b.flush(); });
    b.chunks([&] {
      if (me == 2) return b.put(b.output(), {0, 1}, out);
      b.wait(2, out, b.output());
      b.copy({b.output()}, b.slot(2, out));
      b.credit(2, out, b.output());
    });
  };
}

// Each rank writes its input into all outputs.
inline Write put_into_peers(bool ready) {
  return [ready](Builder& b) {
    int ch = b.channel(1), me = b.rank();
    if (ready) meet(b, ch);
    b.chunks([&] {
      b.copy({b.output(me)}, b.input());
      std::vector<Operand> outputs;
      for (int peer : others(b)) outputs.push_back(b.output_of(peer, me));
      b.put(outputs, b.input(), others(b), ch);
      for (int peer : others(b)) {
        b.wait(peer, ch, b.output(peer));
        b.copy({b.output(peer)}, b.slot(peer, ch));
        b.credit(peer, ch, b.output(peer));
      }
    });
  };
}

// A broadcast from 0 to 1: what the root does each chunk, and what the other does.
inline Write root_and_leaf(std::function<void(Builder&, int ch)> root,
                           std::function<void(Builder&, int ch)> leaf) {
  return [=](Builder& b) {
    b.param("root", 0);
    int ch = b.channel(2);
    b.chunks([&] {
      if (b.rank() == 0) b.copy({b.output()}, b.input());
      b.rank() == 0 ? root(b, ch) : leaf(b, ch);
    });
  };
}

inline void send_chunk(Builder& b, int ch) { b.put(b.input(), {1}, ch); }

inline void take_chunk(Builder& b, int ch) {
  b.wait(0, ch, b.output());
  b.copy({b.output()}, b.slot(0, ch));
  b.credit(0, ch, b.output());
}

}  // namespace weft::programs
