#include "base/machine.h"

#include <gtest/gtest.h>

#include "unit/made_up_tree.h"

namespace weft {
namespace {

const std::string kCache = "/sys/devices/system/cpu/cpu0/cache";
const std::string kNode = "/sys/devices/system/node";

TEST(Machine, AServerWithEverything) {
  const MadeUpTree tree(MadeUpTree::Files{
      {"/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9755\n"},
      {"/proc/meminfo", "MemTotal:  1024 kB\nHugePages_Total:      12\nHugepagesize:    2048 kB\n"},
      {kCache + "/index0/level", "1\n"},
      {kCache + "/index0/type", "Data\n"},
      {kCache + "/index0/size", "48K\n"},
      {kCache + "/index0/shared_cpu_list", "0,8\n"},
      {kCache + "/index1/level", "1\n"},
      {kCache + "/index1/type", "Instruction\n"},
      {kCache + "/index1/size", "32K\n"},
      {kCache + "/index3/level", "3\n"},
      {kCache + "/index3/type", "Unified\n"},
      {kCache + "/index3/size", "32M\n"},
      {kCache + "/index3/shared_cpu_list", "0-15\n"},
      {kCache + "/uevent", ""},
      {kNode + "/node0/cpulist", "0-7\n"},
      {kNode + "/node0/meminfo", "Node 0 MemFree:  5 kB\nNode 0 MemTotal:  2097152 kB\n"},
      {kNode + "/node10/cpulist", "8-15\n"},
      {kNode + "/node10/meminfo", "Node 10 MemTotal:  1048576 kB\n"},
      {kNode + "/online", "0,10\n"},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
      {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never\n"},
  });
  const Machine machine = read_machine(tree.root());
  EXPECT_EQ(machine.processor, "AMD EPYC 9755");
  EXPECT_EQ(machine.huge_page_bytes, 2u << 20);
  EXPECT_EQ(machine.huge_pages_reserved, 12u);
  EXPECT_EQ(machine.transparent_huge_pages, "madvise");
  EXPECT_EQ(machine.shared_transparent_huge_pages, "advise");

  ASSERT_EQ(machine.caches.size(), 3u);
  EXPECT_EQ(machine.caches[1].type, "Instruction");
  EXPECT_EQ(machine.caches[2].shared_by, "0-15");
  EXPECT_EQ(data_cache_bytes(machine, 1), 48u << 10);
  EXPECT_EQ(data_cache_bytes(machine, 2), 0u);
  EXPECT_EQ(data_cache_bytes(machine, 3), 32u << 20);

  ASSERT_EQ(machine.numa_nodes.size(), 2u);
  EXPECT_EQ(machine.numa_nodes[0].bytes, std::size_t{2} << 30);
  EXPECT_EQ(machine.numa_nodes[1].node, 10);
  EXPECT_EQ(machine.numa_nodes[1].processors, "8-15");
}

TEST(Machine, AnArmThatNamesNoModel) {
  const MadeUpTree tree(
      MadeUpTree::Files{{"/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"}});
  EXPECT_EQ(read_machine(tree.root()).processor, "implementer 0x41 part 0xd4f");
}

TEST(Machine, WhatTheKernelDoesNotSayIsEmpty) {
  const MadeUpTree tree(MadeUpTree::Files{});
  const Machine machine = read_machine(tree.root());
  EXPECT_EQ(machine.processor, "");
  EXPECT_TRUE(machine.caches.empty());
  EXPECT_TRUE(machine.numa_nodes.empty());
  EXPECT_EQ(machine.huge_page_bytes, 0u);
  EXPECT_EQ(machine.transparent_huge_pages, "");
}

}  // namespace
}  // namespace weft
