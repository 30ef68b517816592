#include "base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "unit/made_up_tree.h"

namespace weft {
namespace {

const std::string kV2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const std::string kV1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
const std::string kV1Group = "3:memory:/else\n2:cpuset:/else\n1:cpu,cpuacct:/job/step\n";
const std::string kV1Cpu = "/sys/fs/cgroup/cpu,cpuacct";

struct QuotaCase {
  const char* what;
  MadeUpTree::Files files;
  int affinity;
  double quota;
  int usable;
  std::string from;  // the file that limits
};

const QuotaCase kQuotaCases[] = {
    {"nothing to read", {}, 6, 0, 6, ""},
    {"version 2, no limit",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/job\n"},
      {"/sys/fs/cgroup/job/cpu.max", "max 100000\n"}},
     6,
     0,
     6,
     ""},
    {"version 2, a limit is rounded up",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/job\n"},
      {"/sys/fs/cgroup/job/cpu.max", "250000 100000\n"}},
     6,
     2.5,
     3,
     "/sys/fs/cgroup/job/cpu.max"},
    {"version 2, the parent's is tighter",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/job/step/task\n"},
      {"/sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n"},
      {"/sys/fs/cgroup/job/step/cpu.max", "800000 100000\n"},
      {"/sys/fs/cgroup/job/cpu.max", "100000 50000\n"}},
     6,
     2,
     2,
     "/sys/fs/cgroup/job/cpu.max"},
    {"version 2, the limit is at the root of a container",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/\n"},
      {"/sys/fs/cgroup/cpu.max", "50000 100000\n"}},
     6,
     0.5,
     1,
     "/sys/fs/cgroup/cpu.max"},
    {"version 2, the group is outside of the namespace",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/../../other\n"},
      {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}},
     6,
     2,
     2,
     "/sys/fs/cgroup/cpu.max"},
    {"a limit above the mask",
     {{"/proc/self/mountinfo", kV2},
      {"/proc/self/cgroup", "0::/job\n"},
      {"/sys/fs/cgroup/job/cpu.max", "1600000 100000\n"}},
     6,
     16,
     6,
     "/sys/fs/cgroup/job/cpu.max"},
    {"version 1, no limit",
     {{"/proc/self/mountinfo", kV1},
      {"/proc/self/cgroup", kV1Group},
      {kV1Cpu + "/job/step/cpu.cfs_quota_us", "-1\n"},
      {kV1Cpu + "/job/step/cpu.cfs_period_us", "100000\n"}},
     6,
     0,
     6,
     ""},
    {"version 1, own and parent's limit",
     {{"/proc/self/mountinfo", kV1},
      {"/proc/self/cgroup", kV1Group},
      {kV1Cpu + "/job/step/cpu.cfs_quota_us", "400000\n"},
      {kV1Cpu + "/job/step/cpu.cfs_period_us", "100000\n"},
      {kV1Cpu + "/job/cpu.cfs_quota_us", "150000\n"},
      {kV1Cpu + "/job/cpu.cfs_period_us", "50000\n"}},
     6,
     3,
     3,
     kV1Cpu + "/job/cpu.cfs_quota_us"},
    {"version 1, only the container's part is mounted",
     {{"/proc/self/mountinfo",
       "33 31 0:30 /docker/4f2a /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"},
      {"/proc/self/cgroup", "1:cpu:/docker/4f2a/inner\n"},
      {"/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000\n"},
      {"/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n"}},
     6,
     1,
     1,
     "/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us"},
    {"both versions, the tighter counts",
     {{"/proc/self/mountinfo",
       kV1 + "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
      {"/proc/self/cgroup", kV1Group + "0::/job\n"},
      {"/sys/fs/cgroup/unified/job/cpu.max", "500000 100000\n"},
      {kV1Cpu + "/job/step/cpu.cfs_quota_us", "200000\n"},
      {kV1Cpu + "/job/step/cpu.cfs_period_us", "100000\n"}},
     6,
     2,
     2,
     kV1Cpu + "/job/step/cpu.cfs_quota_us"},
    {"files of nonsense limit nothing",
     {{"/proc/self/mountinfo", kV2 + "- - -\n\nx\n"},
      {"/proc/self/cgroup", "::\n0\n0::/job\n"},
      {"/sys/fs/cgroup/job/cpu.max", "\n"},
      {"/sys/fs/cgroup/cpu.max", "1000 0\n"}},
     6,
     0,
     6,
     ""},
};

TEST(Cpu, TheTightestQuotaOnTheWayUpCounts) {
  for (const QuotaCase& expected : kQuotaCases) {
    SCOPED_TRACE(expected.what);
    const MadeUpTree tree(expected.files);
    const CpuLimits limits = cpu_limits({tree.root(), expected.affinity});
    EXPECT_EQ(limits.affinity, expected.affinity);
    EXPECT_DOUBLE_EQ(limits.quota, expected.quota);
    EXPECT_EQ(limits.usable(), expected.usable);
    EXPECT_EQ(limits.quota_file, expected.from.empty() ? "" : tree.root() + expected.from);
  }
}

TEST(Cpu, TheMaskIsTheCallingThreads) {
  std::thread([] {
    cpu_set_t whole, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(whole), &whole), 0);
    EXPECT_EQ(cpu_limits().affinity, CPU_COUNT(&whole));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &whole)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(cpu_limits().affinity, 1);
    EXPECT_EQ(usable_cores(), 1);
  }).join();
}

TEST(Cpu, RanksShareWhatTheyHaveTogether) {
  struct Row {
    std::vector<std::string> shares;
    Crowd densest;
  };
  for (const Row& row : std::vector<Row>{{{"a 0 0-1", "a 0 0,1"}, {2, 2}},
                                         {{"a 0 0", "a 0 1"}, {2, 2}},
                                         {{"a 0 3", "a 0 3"}, {2, 1}},
                                         {{"a 0 0-3", "a 1.5 0-3"}, {2, 2}},
                                         {{"a 0 0-1", "a 0 1-2", "a 0 7"}, {3, 4}},
                                         // Equal numbers on two machines are not the same cores.
                                         {{"a 0 0", "b 0 0"}, {1, 1}},
                                         {{"a 0 0-7", "b 0 0-1", "b 0 0-1"}, {2, 2}},
                                         {{"a 0 0,2-4", "b 0 0", "b 0 0"}, {2, 1}}}) {
    const Crowd found = densest(row.shares);
    EXPECT_EQ(found.ranks, row.densest.ranks) << row.shares.back();
    EXPECT_EQ(found.cores, row.densest.cores) << row.shares.back();
  }
  const Crowd here = densest({cpu_share(), cpu_share()});
  EXPECT_EQ(here.ranks, 2);
  EXPECT_EQ(here.cores, usable_cores());
}

TEST(Cpu, Ranges) {
  for (const auto& [numbers, text] : std::vector<std::pair<std::vector<int>, std::string>>{
           {{}, ""}, {{5}, "5"}, {{0, 1, 2, 8}, "0-2,8"}, {{0, 2, 4, 5}, "0,2,4-5"}})
    EXPECT_EQ(ranges_of(numbers), text);
}

TEST(Cpu, LaunchHintsAreTheEnvironments) {
  const char* kept = getenv("LOCAL_WORLD_SIZE");
  const std::string before = kept ? kept : "";
  setenv("LOCAL_WORLD_SIZE", "4", 1);
  const auto hints = launch_hints();
  EXPECT_EQ(std::count(hints.begin(), hints.end(),
                       std::pair<std::string, std::string>{"LOCAL_WORLD_SIZE", "4"}),
            1);
  unsetenv("LOCAL_WORLD_SIZE");
  for (const auto& [name, value] : launch_hints()) EXPECT_NE(name, "LOCAL_WORLD_SIZE") << value;
  if (kept) setenv("LOCAL_WORLD_SIZE", before.c_str(), 1);
}

}  // namespace
}  // namespace weft
