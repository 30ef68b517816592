#include "base/machine.h"

#include <gtest/gtest.h>

#include "unit/made_up_tree.h"

namespace weft {
namespace {

TEST(Machine, AServerWithEverything) {
  const MadeUpTree tree(MadeUpTree::Files{
      {"/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9755\n"},
      {"/proc/meminfo", "MemTotal:  1024 kB\nHugePages_Total:      12\nHugepagesize:    2048 kB\n"},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
      {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never\n"},
  });
  const Machine machine = read_machine(tree.root());
  EXPECT_EQ(machine.processor, "AMD EPYC 9755");
  EXPECT_EQ(machine.huge_page_bytes, 2u << 20);
  EXPECT_EQ(machine.huge_pages_reserved, 12u);
  EXPECT_EQ(machine.transparent_huge_pages, "madvise");
  EXPECT_EQ(machine.shared_transparent_huge_pages, "advise");
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
  EXPECT_EQ(machine.huge_page_bytes, 0u);
  EXPECT_EQ(machine.transparent_huge_pages, "");
}

}  // namespace
}  // namespace weft
