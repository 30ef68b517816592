// Plans that no builder makes but that can be read from text: each is refused before or
// while it is executed, with the rank and the reason.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/verify_programs.h"
#include "weft/error.h"

namespace weft {
namespace {

using namespace programs;

bool found(const VerifyReport& report, int rank, const std::string& text) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.fault == Fault::kMalformed && finding.rank == rank &&
           finding.text.find(text) != std::string::npos;
  });
}

// ------------------------------------------------------------------ seen without executing

// Rank 1 of the chain waits, copies to the output and the own slot, signals, credits.
enum At { kWait, kCopy, kSignal, kCredit };

struct Edit {
  const char* name;
  std::function<void(Plan&)> edit;
  int rank;
  const char* text;
};

void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

Edit step(const char* name, At at, std::function<void(Step&)> edit, const char* text) {
  return {name, [=](Plan& plan) { edit(plan.programs[1][0].steps[at]); }, 1, text};
}

const std::vector<Edit> kEdits = {
    {"no_rank", [](Plan& p) { p.shape.ranks = 0; }, 0, "no rank"},
    {"programs", [](Plan& p) { p.programs.pop_back(); }, 0, "2 programs for 3 ranks"},
    {"no_slot", [](Plan& p) { p.shape.channels[0].slots = 0; }, 0, "no slot"},
    {"channels", [](Plan& p) { p.shape.channels.resize(9); }, 0, "more than 8 channels"},
    {"blocks", [](Plan& p) { p.shape.output_blocks = 0; }, 0, "blocks"},
    {"fixed_blocks", [](Plan& p) { p.shape.collective = Collective::kAlltoall; }, 0, "blocks"},
    {"in_place", [](Plan& p) { p.shape.in_place = true; }, 0, "alltoall"},
    {"root", [](Plan& p) { p.shape.params["root"] = 3; }, 0, "root 3"},
    {"other_root", [](Plan& p) { p.shape.params["root"] = 2; }, 0, "input of rank 0"},
    {"no_root", [](Plan& p) { p.shape.params.clear(); }, 0, "root"},
    {"rounds", [](Plan& p) { p.programs[2][0].rounds = 0; }, 2, "no round"},
    {"once", [](Plan& p) { p.programs[1][0].chunked = false; }, 1, "once()"},
    {"wide_put", [](Plan& p) { p.shape.channels[0].width = Width::kWide; }, 0, "wide"},
    {"narrow_put", [](Plan& p) { p.shape.channels[0].width = Width::kNarrow; }, 0, "narrow"},
    step(
        "peer_too_high", kWait, [](Step& s) { s.peers = {3}; }, "rank 3"),
    step(
        "peer_negative", kWait, [](Step& s) { s.peers = {-1}; }, "rank -1"),
    step(
        "peer_in_a_round", kSignal, [](Step& s) { s.peers = {Index(0, 0, 1, 0)}; }, "modulus"),
    step(
        "itself", kSignal, [](Step& s) { s.peers = {1}; }, "this rank as its peer"),
    step(
        "nobody", kSignal, [](Step& s) { s.peers.clear(); }, "destination"),
    step(
        "two_sources", kCredit, [](Step& s) { s.peers = {0, 2}; }, "other than one source"),
    step(
        "channel", kWait, [](Step& s) { s.channel = 1; }, "channel 1"),
    step(
        "block", kCopy, [](Step& s) { s.dst[0].range.block = 1; }, "blocks 1 .. 1"),
    step(
        "block_modulus", kCopy, [](Step& s) { s.dst[0].range.block.modulus = 0; }, "modulus"),
    step(
        "operand_rank", kCopy, [](Step& s) { s.src[0].rank = 7; }, "rank 7"),
    step(
        "slot_channel", kCopy, [](Step& s) { s.src[0].channel = 3; }, "channel 3"),
    step(
        "absent_input", kCopy,
        [](Step& s) {
          s.src[0] = s.dst[0];
          s.src[0].buffer = s.src[0].range.buffer = Buffer::kInput;
        },
        "input of rank 1"),
    step(
        "two_copied", kCopy, [](Step& s) { s.src.push_back(s.src[0]); }, "one source"),
    step(
        "three_targets", kCopy, [](Step& s) { s.dst.push_back(s.dst[0]); }, "destinations"),
    step(
        "same_target", kCopy, [](Step& s) { s.dst[1] = s.dst[0]; }, "twice"),
    step(
        "own_slot_read", kCopy, [](Step& s) { s.src[0].rank = 1; }, "own slot"),
    step(
        "signal_moves", kSignal, [](Step& s) { s.src.resize(1); }, "moves nothing"),
    step(
        "flush_in_chunks", kSignal,
        [](Step& s) {
          s = {};
          s.verb = Verb::kFlush;
          s.extent.blocks = 0;
        },
        "flush"),
    // A received payload may be a buffer of its sender, whom its credit releases.
    step(
        "slot_put_on", kCopy,
        [](Step& s) {
          s.verb = Verb::kPut;
          s.dst.clear();
          s.peers = {2};
        },
        "put"),
};

class MalformedPlan : public testing::TestWithParam<Edit> {};

TEST_P(MalformedPlan, IsRefused) {
  Plan plan = plan_of(Collective::kBroadcast, 3, chain_broadcast);
  ASSERT_TRUE(verify(plan).ok());
  GetParam().edit(plan);
  VerifyReport report = verify(plan);
  EXPECT_TRUE(found(report, GetParam().rank, GetParam().text)) << to_text(report);
  EXPECT_EQ(report.scenarios, 0);
}

INSTANTIATE_TEST_SUITE_P(Verify, MalformedPlan, testing::ValuesIn(kEdits),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Malformed, IndexOutOfRangeInALaterRound) {
  Plan plan = plan_of(Collective::kBroadcast, 3, chain_broadcast);
  plan.programs[1][0].rounds = 2;
  plan.programs[1][0].steps[kWait].peers = {Index(0, 0, 3, 4)};  // 0, then 3
  VerifyReport report = verify(plan);
  ASSERT_TRUE(found(report, 1, "rank 3")) << to_text(report);
  EXPECT_NE(report.findings[0].step.find("round 1"), std::string::npos);
}

TEST(Malformed, ALaterSectionWithoutRounds) {
  for (bool empty : {false, true}) {
    Plan plan = plan_of(Collective::kBroadcast, 3, chain_broadcast);
    Program& program = plan.programs[1];
    program.push_back({0, true, {}});
    if (!empty) program[1].steps.push_back(program[0].steps[kWait]);
    VerifyReport report = verify(plan);
    ASSERT_TRUE(found(report, 1, "no round")) << to_text(report);
    EXPECT_TRUE(report.findings[0].step.starts_with("section 1")) << report.findings[0].step;
  }
}

// ------------------------------------------------------------------ seen at some size

struct Mismatch {
  const char* name;
  Collective collective;
  Write write;
  const char* text;
};

void PrintTo(const Mismatch& row, std::ostream* out) { *out << row.name; }

// The wait goes with the wrong block, which differs where counts differ.
void wrong_extent(Builder& b) {
  int ch = b.channel(2), me = b.rank(), peer = 1 - me;
  b.chunks([&] {
    b.copy({b.output(me)}, b.input());
    b.put(b.input(), {peer}, ch);
    b.wait(peer, ch, b.output(me));
    b.copy({b.output(peer)}, b.slot(peer, ch));
    b.credit(peer, ch, b.output(peer));
  });
}

void unequal_operands(Builder& b) {
  b.chunks([&] { b.copy({b.output(1 - b.rank())}, b.input()); });
}

// Filled with a chunk of one block, sent as one of the other.
void unequal_slot(Builder& b) {
  b.blocks(2, 2);
  int ch = b.channel(2), peer = 1 - b.rank();
  b.chunks([&] {
    b.copy({b.slot(ch)}, b.input(0));
    b.signal({peer}, ch, b.input(1));
    b.wait(peer, ch, b.input(1));
    b.reduce({b.output(1)}, {b.input(1), b.slot(peer, ch)}, Builder::kLast);
    b.credit(peer, ch, b.input(1));
  });
}

// Where a peer's blocks begin depends on counts that only the peer has.
void remote_alltoall(Builder& b) {
  int ch = b.channel(1), me = b.rank();
  meet(b, ch);
  b.once([&] {
    b.copy({b.output(me)}, b.input(me));
    for (int peer : others(b)) b.copy({b.output(peer)}, b.input_of(peer, me));
  });
  meet(b, ch);
}

const std::vector<Mismatch> kMismatches = {
    {"extent", Collective::kAllgather, wrong_extent, "goes with"},
    {"operands", Collective::kAllgather, unequal_operands, "an operand has"},
    {"slot", Collective::kAllreduce, unequal_slot, "its slot was filled with"},
    {"remote_offset", Collective::kAlltoall, remote_alltoall, "begins elsewhere"},
};

class MismatchedPlan : public testing::TestWithParam<Mismatch> {};

TEST_P(MismatchedPlan, IsRefused) {
  VerifyReport report = verify(plan_of(GetParam().collective, 2, GetParam().write));
  EXPECT_TRUE(found(report, 0, GetParam().text) || found(report, 1, GetParam().text))
      << to_text(report);
}

INSTANTIATE_TEST_SUITE_P(Verify, MismatchedPlan, testing::ValuesIn(kMismatches),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft
