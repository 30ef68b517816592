// weft/price.h: what is counted, what is shared, and what cannot be priced.
#include <cmath>

#include "passes/cost/programs.h"
#include "passes/cost/time_domain.h"
#include "plan/price_formulas.h"
#include "weft/error.h"
#include "weft/registry.h"

namespace weft {
namespace {

using namespace prices;

// Two messages over one link: the second comes when the first is half through.
TEST(Price, WhatOverlapsShares) {
  const double m = 12e6, alone = m / kBandwidth;  // 1 ms
  Topology t = star(3, 0);
  t.reduce = 2 * kBandwidth;
  // Ranks 1 and 2 send to 0; rank 2 first works for half of a millisecond.
  const Plan plan = written(Collective::kReduce, 3, [](Builder& b) {
    const int ch = b.channel(2);
    b.chunks([&] {
      if (b.rank() == 2) {
        b.reduce({b.slot(ch)}, {b.input()}, Builder::kPartial);
        b.signal({0}, ch, b.input());
      } else if (b.rank() == 1) {
        b.put(b.input(), {0}, ch);
      } else {
        for (int from : {1, 2}) {
          b.wait(from, ch, b.output());
          b.credit(from, ch, b.output());
        }
      }
    });
  });
  // Rank 1's takes 0.5 ms alone, then 1 ms of sharing; rank 2's other half 0.5 ms alone.
  EXPECT_NEAR(priced(plan, 12000000, t), 2 * alone, 1e-9);
  t.links[0].shared = false;
  EXPECT_NEAR(priced(plan, 12000000, t), 1.5 * alone, 1e-9);
}

// The sender's next message but one mailbox waits for the first to be credited.
TEST(Price, AFullMailboxHoldsItsSender) {
  const double m = 12e6;
  Topology t = star(3, 0);
  t.copy = kBandwidth;
  // Rank 1 copies for 1 ms before it returns anything, rank 2 from when rank 0 has sent all.
  const auto seconds = [&](int signals) {
    const Plan plan = written(Collective::kAllgather, 3, [&](Builder& b) {
      const int ch = b.channel(1);
      b.chunks([&] {
        const auto work = [&] { b.copy({b.output()}, b.input()); };
        if (b.rank() == 0) {
          for (int i = 0; i < signals; ++i) b.signal({1}, ch, b.input());
          b.signal({2}, ch, b.input());
        } else {
          if (b.rank() == 1) work();
          for (int i = 0; i < (b.rank() == 1 ? signals : 1); ++i) {
            b.wait(0, ch, b.input());
            b.credit(0, ch, b.input());
          }
          if (b.rank() == 2) work();
        }
      });
    });
    return priced(plan, 36000000, t);
  };
  const double alone = m / kBandwidth;
  EXPECT_NEAR(seconds(kFabricMailboxDepth), alone, 1e-9);
  EXPECT_NEAR(seconds(kFabricMailboxDepth + 1), 2 * alone, 1e-9);
}

TEST(Price, RatesAndSteps) {
  Topology t = star(2, 0, 1e-6);
  const double before = whole("allreduce/ring", 2, kMiB, t).seconds;
  t.step = 1e-7;
  const double with_steps = whole("allreduce/ring", 2, kMiB, t).seconds;
  EXPECT_GT(with_steps, before + 5e-7);
  t.step = 0;
  t.reduce = 10e9;
  // Both ranks add two halves of 1 MiB in float32, once.
  EXPECT_NEAR(whole("allreduce/ring", 2, kMiB, t).seconds - before, kMiB / 10e9, 1e-9);
  for (Topology::Link& link : t.links) link.memory = true;
  // The payload is fetched by the reduction, and by the copy of the result.
  EXPECT_NEAR(whole("allreduce/ring", 2, kMiB, t).seconds,
              2e-6 + (kMiB / 2) * (1 / 10e9 + 1 / 10e9 + 1 / kBandwidth) + 1e-6, 2e-6);
}

// What crosses is all that these send.
TEST(Price, TheWireTakesHalfTheBytes) {
  const Topology t = star(4, 0);
  for (const char* name : {"allreduce/two_level", "reduce_scatter/two_level"}) {
    const Price plain = price(name, 4, kMiB, t, {{"node", 1}}),
                narrow = price(name, 4, kMiB, t, {{"node", 1}, {"wire", 1}});
    EXPECT_EQ(narrow.bytes, plain.bytes / 2) << name;
    EXPECT_LT(narrow.seconds, plain.seconds * 0.6) << name;
    EXPECT_EQ(price(name, 4, kMiB, t, {{"node", 1}, {"wire", 1}}, {.dtype = DType::kF64}).bytes,
              plain.bytes);
  }
}

TEST(Price, FoldedProgramsArePricedAsThoseWrittenOut) {
  // More steps than are written out.
  struct Row {
    const char* name;
    int n;
    Params params;
  };
  for (const auto& [name, n, params] :
       {Row{"allreduce/ring", 370, {}}, Row{"allreduce/two_level", 440, {{"node", 20}}},
        Row{"broadcast/scatter_allgather", 600, {}}, Row{"lr_lr", 768, {{"node", 4}}}}) {
    EXPECT_TRUE(cost::Programs(find_algorithm(name), n, params).folded()) << name;
    const Topology t = star(n, 0, 1e-6);
    PriceOptions options;
    options.chunk = 64 << 10;
    // Blocks without a remainder: chunks are alike on all ranks.
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1) * 64;
    const Price folded = price(name, n, bytes, t, params, options);
    const Price written = price(make_plan(name, n, params), bytes, t, options);
    EXPECT_NEAR(folded.seconds / written.seconds, 1, 1e-6) << name;
    EXPECT_EQ(folded.messages, written.messages) << name;
  }
}

// Writing all programs of these would take minutes and more memory than most machines have.
TEST(Price, ProgramsOfFourThousandRanksFold) {
  for (const char* name : {"allreduce/two_level", "lr_lr"})
    EXPECT_TRUE(cost::Programs(find_algorithm(name), 4096, {{"node", 4}}).folded()) << name;
}

// Blocks with a remainder: ranks' chunks, as their programs, are one another's.
TEST(Price, FoldedProgramsAgreeOnChunks) {
  PriceOptions options;
  options.chunk = 599 * 64;
  const std::size_t bytes = 599 * options.chunk + 19200;
  EXPECT_NO_THROW(price("broadcast/scatter_allgather", 600, bytes, star(600, 0), {}, options));
}

TEST(Price, FourThousandRanks) {
  const int n = 4096;
  const Price found = whole("allreduce/rabenseifner", n, 32 * kMiB, star(n, 0, 3e-6));
  const double formula =
      2 * std::log2(n) * 3e-6 + 2 * (1 - 1.0 / n) * bytes_of(32 * kMiB) / kBandwidth;
  expect_within_1_percent(found.seconds, formula, "rab of 4096");
  EXPECT_EQ(found.messages, 2 * 12 * n);
  EXPECT_EQ(found.depth, 24);
}

TEST(Price, WhatCannotBePriced) {
  const Topology t = star(4, 0);
  EXPECT_THROW(price("allreduce/ring", 5, 64, t), InvalidArgument);
  EXPECT_THROW(price("allreduce/ringg", 4, 64, t), InvalidArgument);
  EXPECT_THROW(price("allreduce/ring", 4, 64, t, {{"radix", 2}}), InvalidArgument);
  Topology apart = t;
  apart.links.pop_back();
  EXPECT_THROW(price("allreduce/ring", 4, 64, apart), InvalidArgument);
  const Plan stuck = written(Collective::kBarrier, 2, [](Builder& b) {
    const int ch = b.channel(1);
    b.once([&] { b.wait(1 - b.rank(), ch); });
  });
  EXPECT_THROW(priced(stuck, 0, t), InvalidPlan);
}

}  // namespace
}  // namespace weft
