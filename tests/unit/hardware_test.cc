#include "base/hardware.h"

#include <gtest/gtest.h>

#include "unit/made_up_tree.h"

namespace weft {
namespace {

TEST(Hardware, AServerWithEverything) {
  const MadeUpTree tree(MadeUpTree::Files{
      {"/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9755\n"},
      {"/proc/meminfo", "MemTotal:  1024 kB\nHugePages_Total:      12\nHugepagesize:    2048 kB\n"},
      {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
      {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never\n"},
  });
  const Hardware hardware = read_hardware(tree.root());
  EXPECT_EQ(hardware.processor, "AMD EPYC 9755");
  EXPECT_EQ(hardware.huge_page_bytes, 2u << 20);
  EXPECT_EQ(hardware.huge_pages_reserved, 12u);
  EXPECT_EQ(hardware.transparent_huge_pages, "madvise");
  EXPECT_EQ(hardware.shared_transparent_huge_pages, "advise");
}

TEST(Hardware, AnArmThatNamesNoModel) {
  const MadeUpTree tree(
      MadeUpTree::Files{{"/proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"}});
  EXPECT_EQ(read_hardware(tree.root()).processor, "implementer 0x41 part 0xd4f");
}

TEST(Hardware, WhatTheKernelDoesNotSayIsEmpty) {
  const MadeUpTree tree(MadeUpTree::Files{});
  const Hardware hardware = read_hardware(tree.root());
  EXPECT_EQ(hardware.processor, "");
  EXPECT_EQ(hardware.huge_page_bytes, 0u);
  EXPECT_EQ(hardware.transparent_huge_pages, "");
}

}  // namespace
}  // namespace weft
