// Which processors compute, which the worker gets, and what is refused.
#include "base/placement.h"

#include <gtest/gtest.h>

#include "comm/workers.h"
#include "support/variable.h"
#include "unit/made_up_tree.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::Variable;

struct RangesCase {
  std::string text;
  std::optional<std::vector<int>> numbers;
};
const RangesCase kRanges[] = {
    {"3", {{3}}},        {"0-2,7", {{0, 1, 2, 7}}},
    {"5,1,5", {{1, 5}}}, {"", {}},
    {"2-", {}},          {"4-3", {}},
    {"-1", {}},          {"1,,2", {}},
    {"1,", {}},          {"1 2", {}},
    {"cores", {}},       {"65536", {}},
};

TEST(Ranges, AreReadOrRefused) {
  for (const RangesCase& c : kRanges) EXPECT_EQ(read_ranges(c.text), c.numbers) << c.text;
}

// Two threads a core: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
const MadeUpTree::Files kThreads = [] {
  MadeUpTree::Files files;
  for (int i = 0; i < 8; ++i)
    files["/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list"] =
        std::to_string(i % 4) + "," + std::to_string(i % 4 + 4) + "\n";
  return files;
}();

struct SplitCase {
  const char* what;
  std::string mask;
  double quota;
  Share share;
  int threads;
  bool two_threads_a_core;
  std::string compute, left;
};
const SplitCase kSplits[] = {
    {"as many threads as processors", "0-3", 0, {}, 0, false, "0-3", ""},
    {"the first ones compute", "0-3", 0, {}, 2, false, "0-1", "2-3"},
    {"more threads than processors", "0-3", 0, {}, 9, false, "0-3", ""},
    {"the mask has gaps", "1,4,9", 0, {}, 2, false, "1,4", "9"},
    {"two ranks divide a mask: the first", "0-3", 0, {0, 2}, 1, false, "0", "1"},
    {"and the second", "0-3", 0, {1, 2}, 1, false, "2", "3"},
    {"three ranks on four processors", "0-3", 0, {2, 3}, 1, false, "2", "3"},
    {"more ranks than processors", "0-1", 0, {0, 4}, 1, false, "", ""},
    {"a quota of two", "0-7", 2, {}, 1, false, "0", "1"},
    {"a quota of one", "0-7", 1, {}, 1, false, "0", ""},
    {"a quota of three for two ranks", "0-7", 3, {1, 2}, 1, false, "4", "5"},
    {"the other thread of a core that computes", "0-7", 0, {}, 3, true, "0-2", "3,7"},
    {"all cores compute", "0-7", 0, {}, 4, true, "0-3", ""},
};

TEST(Placement, TheFirstProcessorsOfAShareCompute) {
  const MadeUpTree plain({}), tree(kThreads);
  for (const SplitCase& c : kSplits) {
    CpuLimits limits;
    limits.processors = *read_ranges(c.mask);
    limits.quota = c.quota;
    const CpuProbe probe{(c.two_threads_a_core ? tree : plain).root(), {}};
    const Split split = split_processors(limits, c.share, c.threads, probe);
    EXPECT_EQ(ranges_of(split.compute), c.compute) << c.what;
    EXPECT_EQ(ranges_of(split.left), c.left) << c.what;
  }
}

TEST(Placement, RanksOfOneMachineAndMaskDivideIt) {
  const std::vector<std::string> shares = {"a 0 0-7", "b 0 0-7", "a 0 0-3", "a 0 0-7", "a 0 0-7"};
  const std::pair<int, int> expected[] = {{0, 3}, {0, 1}, {0, 1}, {1, 3}, {2, 3}};
  for (int rank = 0; rank < 5; ++rank) {
    const Share share = share_of(shares, rank);
    EXPECT_EQ(std::pair(share.rank, share.ranks), expected[rank]) << rank;
  }
}

TEST(Placement, TheLauncherSaysWhichRankOfItsHostThisIs) {
  const char* const names[] = {"LOCAL_RANK",
                               "LOCAL_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK",
                               "OMPI_COMM_WORLD_LOCAL_SIZE",
                               "MPI_LOCALRANKID",
                               "MPI_LOCALNRANKS",
                               "SLURM_LOCALID",
                               "SLURM_TASKS_PER_NODE"};
  for (std::size_t i = 0; i < std::size(names); i += 2) {
    const Variable rank(names[i], "1"), ranks(names[i + 1], "4(x2),3");
    EXPECT_EQ(launched_share().rank, 1) << names[i];
    EXPECT_EQ(launched_share().ranks, 4) << names[i + 1];
  }
  const Variable rank("LOCAL_RANK", "7"), ranks("LOCAL_WORLD_SIZE", "4");
  EXPECT_EQ(launched_share().ranks, 1) << "a rank beyond its host says nothing";
}

TEST(Placement, OpenMPsThreadsAreRead) {
  const std::pair<const char*, int> cases[] = {{"3", 3}, {"4,2", 4}, {"many", 0}, {"-2", 0}};
  for (const auto& [text, threads] : cases) {
    const Variable set("OMP_NUM_THREADS", text);
    EXPECT_EQ(openmp_threads(), threads) << text;
  }
}

CpuLimits four() {
  CpuLimits limits;
  limits.processors = {2, 3, 4, 5};
  return limits;
}

template <typename E>
std::string refusal(const WorkerOptions& asked) {
  try {
    (void)read_workers(asked, four());
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Workers, WhatIsWrongIsRefused) {
  EXPECT_EQ(refusal<InvalidArgument>({.count = -1}), "workers: count is -1: give 0, 1 or auto");
  EXPECT_EQ(refusal<Unsupported>({.count = 2}),
            "workers: count is 2, but one thread carries on all asynchronous calls: give 0, 1 or "
            "auto");
  EXPECT_EQ(refusal<InvalidArgument>({.cores = {{3, 6}}}),
            "workers: cores has 6, which is not in the affinity mask: name some of the processors "
            "that this process may run on, 2-5, or start it with another affinity mask");
  EXPECT_NE(refusal<InvalidArgument>({.cores = {std::vector<int>()}}).find("cores is empty"),
            std::string::npos);
  EXPECT_EQ(refusal<InvalidArgument>({.nice = 20}),
            "workers: the nice value is 20: give one from -20, the highest priority, to 19");
}

TEST(Workers, VariablesCountWhereOptionsSayNothing) {
  const Variable count("WEFT_WORKERS", "0"), cores("WEFT_WORKER_CORES", "3-4");
  const Variable nice("WEFT_WORKER_NICE", "7");
  const WorkerOptions said = read_workers({}, four());
  EXPECT_EQ(said, (WorkerOptions{0, {{3, 4}}, 7, {}}));
  const WorkerOptions given{1, {{5}}, 9, 2};
  EXPECT_EQ(read_workers(given, four()), given);
}

TEST(Workers, WrongVariablesAreNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"WEFT_WORKERS", "two"}, {"WEFT_WORKER_CORES", "3;4"}, {"WEFT_WORKER_NICE", "1.5"}};
  for (const auto& [name, text] : wrong) {
    const Variable set(name, text);
    const std::string said = refusal<InvalidArgument>({});
    EXPECT_NE(said.find(std::string(name) + " is \"" + text + "\""), std::string::npos) << said;
  }
  const Variable automatic("WEFT_WORKER_CORES", "auto");
  EXPECT_EQ(read_workers({}, four()).cores, std::nullopt);
}

TEST(Workers, AreBoundToWhatIsLeftFree) {
  const MadeUpTree tree({});
  const CpuProbe probe{tree.root(), {}};
  const auto plan = [&](const WorkerOptions& options, Share share = {}) {
    return plan_worker(options, four(), share, probe);
  };
  EXPECT_EQ(plan({.compute_threads = 3}).worker.cores, std::vector<int>{5});
  EXPECT_EQ(plan({.compute_threads = 3}).why, "left free by 3 compute threads");
  EXPECT_EQ(plan({.compute_threads = 1}, {1, 2}).worker.cores, std::vector<int>{5});
  const WorkerPlan full = plan({.compute_threads = 4});
  EXPECT_TRUE(full.worker.exists);
  EXPECT_TRUE(full.worker.cores.empty());
  EXPECT_EQ(
      full.why,
      "not bound: no core is left free by 4 compute threads. Start fewer (OMP_NUM_THREADS), or "
      "name processors (WEFT_WORKER_CORES)");
  EXPECT_EQ(plan({}, {0, 9}).why.find("not bound: more ranks than processors"), 0u);
  const WorkerPlan told = plan({.cores = {{2}}, .compute_threads = 4});
  EXPECT_EQ(told.worker.cores, std::vector<int>{2}) << "a core that computes, since it was named";
  EXPECT_EQ(told.why, "as asked");
  EXPECT_FALSE(plan({.count = 0}).worker.exists);
}

TEST(Workers, ALaterCommunicatorMayNotAskForAnother) {
  const Worker worker{true, {3}, 5};
  EXPECT_NO_THROW(check_same_worker({}, worker));
  EXPECT_NO_THROW(check_same_worker({1, {{3}}, 5, {}}, worker));
  EXPECT_THROW(check_same_worker({.count = 0}, worker), InvalidArgument);
  EXPECT_THROW(check_same_worker({.cores = {{4}}}, worker), InvalidArgument);
  EXPECT_THROW(check_same_worker({.nice = 4}, worker), InvalidArgument);
}

}  // namespace
}  // namespace weft
