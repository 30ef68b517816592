// What the machine's lengths change in the built-in choice.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/machine_model.h"
#include "plan/selected.h"

namespace weft {
namespace {

constexpr auto kAllreduce = Collective::kAllreduce;

TEST(SelectorLengths, ChunksOfAnAllreduceOfTwoRanks) {
  Settings settings{.lengths = {.allreduce_chunk = 256 << 10, .allreduce_chunk_to = 8 << 20}};
  EXPECT_EQ(chosen(2, call_of(kAllreduce, 16 << 10), settings), "allreduce/one_shot");
  EXPECT_EQ(chosen(2, call_of(kAllreduce, 8 << 20), settings), "allreduce/two_shot(chunk=256K)");
  EXPECT_EQ(chosen(2, call_of(kAllreduce, (8 << 20) + 4), settings), "allreduce/two_shot");
  EXPECT_EQ(chosen(3, call_of(kAllreduce, 8 << 20), settings), "allreduce/two_shot");
  settings.crowded = true;
  EXPECT_EQ(chosen(2, call_of(kAllreduce, 8 << 20), settings), "allreduce/two_shot");
}

TEST(SelectorLengths, WhatTwoRanksAddUpEverywhere) {
  struct Case {
    int ranks;
    std::size_t bytes;
    const char* algorithm;
    bool symmetric = false, crowded = false;
  };
  const std::vector<Case> table = {
      {2, 0, "allreduce/one_shot"},
      {2, 4, "allreduce/one_shot(chunk=64K)"},
      {2, 48 << 10, "allreduce/one_shot(chunk=64K)"},
      {2, (48 << 10) + 4, "allreduce/two_shot(chunk=64K)"},
      {2, 48 << 10, "allreduce/one_shot", false, true},
      {2, 16 << 10, "allreduce/one_shot", true},
      {2, 48 << 10, "allreduce/two_shot(chunk=64K)", true},
      {3, 16 << 10, "allreduce/one_shot"},
      {3, 48 << 10, "allreduce/two_shot"},
  };
  Settings settings{.lengths = {
                        .one_shot_of_two = 48 << 10,
                        .allreduce_chunk = 64 << 10,
                        .allreduce_chunk_to = kNever,
                    }};
  for (const Case& c : table) {
    settings.crowded = c.crowded;
    Call call = call_of(kAllreduce, c.bytes);
    call.symmetric = c.symmetric;
    EXPECT_EQ(chosen(c.ranks, call, settings), c.algorithm) << c.ranks << ", " << c.bytes;
  }
  settings.crowded = false;
  settings.reproducible = true;
  EXPECT_EQ(chosen(2, call_of(kAllreduce, 48 << 10), settings), "allreduce/one_shot(chunk=64K)");
  settings.place = {0, 1};
  EXPECT_EQ(chosen(2, call_of(kAllreduce, 48 << 10), settings), "allreduce/two_shot");
}

TEST(SelectorLengths, HowFarARootIsAhead) {
  const Call call = call_of(Collective::kBroadcast, 1 << 20);
  const auto ahead = [&](std::size_t bytes, int ranks, bool crowded = false) {
    return chosen(ranks, call, {.lengths = {.broadcast_ahead = bytes}, .crowded = crowded});
  };
  EXPECT_EQ(chosen(2, call), "broadcast/one_shot");
  for (const int ranks : {2, 17}) {
    EXPECT_EQ(ahead(256 << 10, ranks), "broadcast/one_shot(slots=4)");
    EXPECT_EQ(ahead(0, ranks), "broadcast/one_shot(slots=1)");
    EXPECT_EQ(ahead(1 << 30, ranks), "broadcast/one_shot(slots=16)");
    EXPECT_EQ(ahead(256 << 10, ranks, true), "broadcast/one_shot");
  }
}

// One that outgrows the caches has chunks of its own, unless it is worked on in place.
TEST(SelectorLengths, LongBroadcasts) {
  Settings settings{.lengths = {.broadcast_ahead = 256 << 10,
                                .long_broadcast = 16 << 20,
                                .long_broadcast_chunk = 512 << 10,
                                .broadcast_in_place = 4 << 20}};
  Call just_shorter = call_of(Collective::kBroadcast, (16 << 20) - 4);
  Call call = call_of(Collective::kBroadcast, 16 << 20);
  for (const int ranks : {2, 3, 17}) {
    EXPECT_EQ(chosen(ranks, just_shorter, settings), "broadcast/one_shot(slots=4)");
    EXPECT_EQ(chosen(ranks, call, settings), "broadcast/one_shot(slots=4,chunk=512K)");
  }
  just_shorter.symmetric = call.symmetric = true;
  EXPECT_EQ(chosen(2, just_shorter, settings), "broadcast/one_shot(chunk=1M)");
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot(chunk=1M)");
  EXPECT_EQ(chosen(3, call, settings), "broadcast/one_shot(slots=4,chunk=512K)");
  settings.lengths.broadcast_in_place = kNever;
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot(slots=4,chunk=512K)");
  settings.crowded = true;
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot");
  settings.crowded = false;
  settings.lengths.long_broadcast_chunk = 128 << 10;
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot(slots=16,chunk=128K)");
  settings.lengths.long_broadcast_chunk = 8 << 20;
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot(slots=1,chunk=8M)");
  settings.lengths.long_broadcast_chunk = 0;
  EXPECT_EQ(chosen(2, call, settings), "broadcast/one_shot(slots=16)");
  settings.lengths.long_broadcast_chunk = 512 << 10;
  settings.lengths.long_broadcast = 0;
  EXPECT_EQ(chosen(2, just_shorter, settings), "broadcast/one_shot(slots=4,chunk=512K)");
}

TEST(SelectorLengths, LongSymmetricBuffersOfTwoRanks) {
  Call call = call_of(Collective::kReduce, 8 << 20);
  EXPECT_EQ(chosen(2, call), "reduce/direct");
  call.symmetric = true;
  EXPECT_EQ(chosen(2, call), "reduce/direct(chunk=1M)");
  EXPECT_EQ(chosen(2, call, {.crowded = true}), "reduce/direct");
  EXPECT_EQ(chosen(2, call, {.place = {0, 1}}), "reduce/two_level(node=1,outer=chain)");
  EXPECT_EQ(chosen(4, call), "reduce/direct");
}

TEST(SelectorLengths, BlocksThatAreLoadedFromSymmetricMemory) {
  const Settings settings{.lengths = {.loaded_chunk = 1 << 20}};
  for (const auto collective :
       {Collective::kAllgather, Collective::kReduceScatter, Collective::kAlltoall}) {
    Call call = call_of(collective, 4 << 20);
    const std::string direct = chosen(2, call);
    EXPECT_EQ(chosen(2, call, settings), direct);
    call.symmetric = true;
    EXPECT_EQ(chosen(2, call), direct);
    EXPECT_EQ(chosen(2, call, settings), direct + "(chunk=1M)");
    EXPECT_EQ(chosen(3, call, settings), direct);
    EXPECT_EQ(chosen(2, call, {.lengths = settings.lengths, .crowded = true}), direct);
    EXPECT_EQ(chosen(2, call, {.lengths = settings.lengths, .place = {0, 1}}),
              chosen(2, call, {.place = {0, 1}}));
  }
}

TEST(SelectorLengths, LongExchangesOfTwoRanksSendFarAhead) {
  struct Case {
    std::size_t ahead, chunk;
    const char* parameters;
  };
  const std::vector<Case> table = {{512 << 10, 128 << 10, "(ahead=4)"},
                                   {512 << 10, 256 << 10, "(ahead=2)"},
                                   {512 << 10, 16 << 10, "(ahead=7)"},
                                   {0, 128 << 10, "(ahead=1)"}};
  for (const auto collective :
       {Collective::kAllgather, Collective::kReduceScatter, Collective::kAlltoall}) {
    const Call shorter = call_of(collective, (4 << 20) - 4);
    Call call = call_of(collective, 4 << 20);
    const std::string direct = chosen(2, call);
    for (const Case& c : table) {
      const Lengths lengths{
          .moved_chunk = c.chunk, .long_exchange = 8 << 20, .long_ahead = c.ahead};
      EXPECT_EQ(chosen(2, call, {.lengths = lengths}), direct + c.parameters);
      EXPECT_EQ(chosen(2, shorter, {.lengths = lengths}), direct);
      EXPECT_EQ(chosen(3, call, {.lengths = lengths}), direct);
      EXPECT_EQ(chosen(2, call, {.lengths = lengths, .place = {0, 1}}),
                chosen(2, call, {.place = {0, 1}}));
    }
    call.symmetric = true;
    EXPECT_EQ(chosen(2, call, {.lengths = {.long_exchange = 8 << 20}}), direct);
  }
}

TEST(SelectorLengths, ShortExchangesOfTwoRanks) {
  const Settings settings{.lengths = {.exchange_chunk = 64 << 10, .exchange_chunk_to = 512 << 10}};
  for (const auto collective :
       {Collective::kAllgather, Collective::kReduceScatter, Collective::kAlltoall}) {
    Call call = call_of(collective, 256 << 10);  // of two blocks
    const Call shorter = call_of(collective, 64 << 10);
    const Call longer = call_of(collective, (256 << 10) + 4);
    const std::string direct = chosen(2, call);
    EXPECT_EQ(chosen(2, call, settings), direct + "(chunk=64K)");
    EXPECT_EQ(chosen(2, shorter, settings), direct);
    EXPECT_EQ(chosen(2, longer, settings), direct);
    EXPECT_EQ(chosen(3, call, settings), direct);
    EXPECT_EQ(chosen(2, call, {.lengths = settings.lengths, .crowded = true}), direct);
    EXPECT_EQ(chosen(2, call, {.lengths = settings.lengths, .place = {0, 1}}),
              chosen(2, call, {.place = {0, 1}}));
    call.symmetric = true;
    EXPECT_EQ(chosen(2, call, settings), direct);
  }
}

// What two ranks keep of an alltoall may have any length, and is known to one of them only.
TEST(SelectorLengths, AnAlltoallWithCountsHasNoLength) {
  const std::vector<std::size_t> counts = {1 << 20, 1 << 20};
  const Settings settings{.lengths = {.long_exchange = 8 << 20}};
  Call call = call_of(Collective::kAlltoall, 4 << 20);
  EXPECT_EQ(chosen(2, call, settings), "alltoall/direct(ahead=4)");
  call.input_counts = call.output_counts = counts;
  EXPECT_EQ(chosen(2, call, settings), "alltoall/direct");
}

struct Chosen {
  Collective collective;
  std::size_t bytes;  // of the whole message
  const char* choice;
};

void expect_choices(const char* model, bool symmetric, const std::vector<Chosen>& table) {
  const Settings settings{.lengths = model_named(model)->lengths};
  for (const Chosen& c : table) {
    const std::size_t block = c.collective == Collective::kAlltoall ? c.bytes / 2 : c.bytes;
    Call call = call_of(c.collective, block);
    call.symmetric = symmetric;
    EXPECT_EQ(chosen(2, call, settings), c.choice) << model << ", " << c.bytes;
  }
}

TEST(SelectorLengths, OfTheRuleForIntels) {
  expect_choices("intel", false,
                 {{kAllreduce, 64 << 10, "allreduce/one_shot(chunk=64K)"},
                  {kAllreduce, (64 << 10) + 4, "allreduce/two_shot(chunk=64K)"},
                  {kAllreduce, 100 << 20, "allreduce/two_shot(chunk=64K)"},
                  {Collective::kAlltoall, (4 << 20) - 8, "alltoall/direct"},
                  {Collective::kAlltoall, 4 << 20, "alltoall/direct(ahead=7)"},
                  {Collective::kBroadcast, (8 << 20) - 4, "broadcast/one_shot(slots=8)"},
                  {Collective::kBroadcast, 8 << 20, "broadcast/one_shot(slots=16,chunk=128K)"}});
}

TEST(SelectorLengths, OfZen4) {
  expect_choices("zen4", false,
                 {{kAllreduce, 64 << 10, "allreduce/one_shot(chunk=64K)"},
                  {kAllreduce, 1 << 20, "allreduce/two_shot(chunk=64K)"},
                  {kAllreduce, (1 << 20) + 4, "allreduce/two_shot"},
                  {Collective::kAlltoall, 512 << 10, "alltoall/direct(chunk=64K)"},
                  {Collective::kAlltoall, 1 << 20, "alltoall/direct"},
                  {Collective::kBroadcast, 100 << 20, "broadcast/one_shot"}});
  expect_choices("zen4", true,
                 {{kAllreduce, 4 << 10, "allreduce/one_shot"},
                  {kAllreduce, 8 << 10, "allreduce/direct(chunk=256K)"},
                  {Collective::kReduce, 100 << 20, "reduce/direct"},
                  {Collective::kAlltoall, 4 << 20, "alltoall/direct(chunk=1M)"},
                  {Collective::kBroadcast, 16 << 10, "broadcast/one_shot"},
                  {Collective::kBroadcast, 24 << 10, "broadcast/one_shot(chunk=1M)"}});
}

TEST(SelectorLengths, LongAllreducesInPlaceOfTwoRanks) {
  Settings settings{.lengths = {.allreduce_in_place = 4 << 10, .long_in_place = 24 << 20}};
  Call shorter = call_of(kAllreduce, (24 << 20) - 4), call = call_of(kAllreduce, 24 << 20);
  EXPECT_EQ(chosen(2, call, settings), "allreduce/two_shot");
  shorter.symmetric = call.symmetric = true;
  EXPECT_EQ(chosen(2, shorter, settings), "allreduce/direct(chunk=16K)");
  EXPECT_EQ(chosen(2, call, settings), "allreduce/direct(chunk=256K)");
  EXPECT_EQ(chosen(3, call, settings), "allreduce/two_shot");
  settings.lengths.allreduce_in_place = 32 << 20;
  EXPECT_EQ(chosen(2, call, settings), "allreduce/two_shot");
}

TEST(SelectorLengths, ChunksInPlaceAreTheModels) {
  const Settings settings{.lengths = {.allreduce_in_place = 4 << 10,
                                      .allreduce_in_place_chunk = 8 << 10,
                                      .long_in_place = 24 << 20,
                                      .long_in_place_chunk = 512 << 10,
                                      .reduce_in_place = 4 << 10,
                                      .reduce_in_place_chunk = 128 << 10,
                                      .broadcast_in_place = 4 << 10,
                                      .broadcast_in_place_chunk = 0}};
  struct Row {
    Collective collective;
    std::size_t bytes;
    const char* choice;
  };
  for (const Row& row : {Row{kAllreduce, 1 << 20, "allreduce/direct(chunk=8K)"},
                         Row{kAllreduce, 24 << 20, "allreduce/direct(chunk=512K)"},
                         Row{Collective::kReduce, 1 << 20, "reduce/direct(chunk=128K)"},
                         Row{Collective::kBroadcast, 1 << 20, "broadcast/one_shot"}}) {
    Call call = call_of(row.collective, row.bytes);
    call.symmetric = true;
    EXPECT_EQ(chosen(2, call, settings), row.choice);
  }
}

TEST(SelectorLengths, ALongBroadcastsRootIsAsFarAheadAsTheModelSays) {
  const Settings settings{.lengths = {.long_broadcast = 1 << 20,
                                      .long_broadcast_chunk = 256 << 10,
                                      .long_broadcast_ahead = 1 << 20,
                                      .broadcast_in_place = kNever}};
  EXPECT_EQ(chosen(2, call_of(Collective::kBroadcast, 1 << 20), settings),
            "broadcast/one_shot(slots=4,chunk=256K)");
}

}  // namespace
}  // namespace weft
