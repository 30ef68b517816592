// Which model of the machine a processor gets.
#include "base/machine_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "made_up_tree.h"

namespace weft {
namespace {

TEST(MachineModel, IsTheProcessors) {
  struct Row {
    Processor processor;
    const char* name;
  };
  for (const Row& row : std::vector<Row>{{{"AuthenticAMD", 25, 0x01}, "zen3"},
                                         {{"AuthenticAMD", 25, 0x11}, "zen4"},
                                         {{"AuthenticAMD", 25, 0x50}, "zen3"},
                                         {{"AuthenticAMD", 25, 0x61}, "zen4"},
                                         {{"AuthenticAMD", 26, 0x02}, "zen5"},
                                         {{"AuthenticAMD", 26, 0x50}, "unknown"},
                                         {{"GenuineIntel", 6, 0x6a}, "ice lake"},
                                         {{"GenuineIntel", 6, 0x6c}, "ice lake"},
                                         {{"GenuineIntel", 6, 0x8f}, "sapphire rapids"},
                                         {{"GenuineIntel", 6, 0xcf}, "emerald rapids"},
                                         {{"GenuineIntel", 6, 0xa7}, "intel"},
                                         {{"GenuineIntel", 19, 0x01}, "intel"},
                                         {{}, "unknown"}})
    EXPECT_EQ(shipped_model(row.processor).name, row.name);
}

TEST(MachineModel, OfAnUnknownProcessorGoesByItsSecondCache) {
  Processor processor{.vendor = "Other", .l2 = 1 << 20};
  for (const CopyRule& rule : shipped_model(processor).copies.rules) {
    EXPECT_EQ(rule.string_from, kNever);
    EXPECT_EQ(rule.stream_from, kNever);
  }
  EXPECT_EQ(shipped_model(processor).copies.rules[0].parts_from, 24u << 10);
  EXPECT_EQ(shipped_model(processor).reuse.span, 2u << 20);
  EXPECT_EQ(shipped_model(processor).reuse.to, 1u << 20);
  processor.fast_strings = true;
  for (const bool fast_short : {false, true}) {
    processor.fast_short_strings = fast_short;
    for (const CopyRule& rule : shipped_model(processor).copies.rules) {
      EXPECT_EQ(rule.string_from, fast_short ? 4096u : 8192u);
      EXPECT_EQ(rule.string_below, processor.l2);
      EXPECT_EQ(rule.stream_from, kNever);
    }
    const auto& rules = shipped_model(processor).copies.rules;
    EXPECT_EQ(rules[0].parts_from, 24u << 10);
    for (const std::size_t other : {1u, 2u}) EXPECT_EQ(rules[other].parts_from, kNever);
  }
}

TEST(MachineModel, OfAnUnknownProcessorLendsSlotsThatItsChunksFit) {
  const MachineModel model = shipped_model({"Other"});
  EXPECT_EQ(model.reuse.lend_to, 64u << 10);
  EXPECT_EQ(model.lengths.allreduce_in_place, (4u << 10) + 1);
  EXPECT_LE(model.lengths.exchange_chunk, model.reuse.lend_to);
  EXPECT_LE(model.lengths.allreduce_chunk, model.reuse.lend_to);
  EXPECT_EQ(shipped_model({"AuthenticAMD", 26, 0x02}).reuse.lend_to, 0u);
}

TEST(MachineModel, RefusesStringsThatWouldAliasButOnZen5) {
  for (const char* name :
       {"intel", "zen3", "zen4", "zen5", "ice lake", "sapphire rapids", "emerald rapids"}) {
    const CopyProfile copies = model_named(name)->copies;
    const bool strings = std::ranges::any_of(copies.rules, [](const CopyRule& rule) {
      return rule.string_from != kNever || rule.fetch_from != kNever;
    });
    EXPECT_EQ(copies.ahead, strings && std::string(name) != "zen5" ? 64u : 0u) << name;
  }
  Processor processor{.vendor = "Other", .l2 = 1 << 20};
  processor.fast_strings = true;
  EXPECT_EQ(shipped_model(processor).copies.ahead, 64u);
}

TEST(MachineModel, WithoutFastStringsNothingIsCopiedByThem) {
  Processor processor{"GenuineIntel", 6, 0x01};
  processor.l2 = 1 << 20;
  for (const CopyRule& rule : shipped_model(processor).copies.rules) {
    EXPECT_EQ(rule.string_from, kNever);
    EXPECT_EQ(rule.fetch_from, kNever);
  }
}

TEST(MachineModel, OfAnUnknownProcessorOfIntelsLendsSlots) {
  Processor processor{"GenuineIntel", 6, 0x01};
  processor.fast_strings = true;
  processor.l2 = 1 << 20;
  const MachineModel model = shipped_model(processor);
  EXPECT_EQ(model.reuse.span, 256u << 10);
  EXPECT_EQ(model.reuse.to, 256u << 10);
  EXPECT_EQ(model.reuse.lend_to, 64u << 10);
  for (const CopyRule& rule : model.copies.rules) {
    EXPECT_EQ(rule.string_from, 8192u);
    EXPECT_EQ(rule.string_below, kNever);
  }
  EXPECT_EQ(model.copies.rules[0].parts_from, 24u << 10);
  for (const std::size_t other : {1u, 2u}) EXPECT_EQ(model.copies.rules[other].parts_from, kNever);
  for (const std::size_t other : {0u, 2u}) EXPECT_EQ(model.copies.rules[other].fetch_from, kNever);
  EXPECT_EQ(model.copies.rules[1].fetch_from, processor.l2);
  EXPECT_EQ(model.copies.rules[0].stream_from, 24u << 20);
  EXPECT_EQ(model.copies.rules[1].stream_from, kNever);
  EXPECT_EQ(model.copies.rules[2].stream_from, kNever);
  EXPECT_EQ(model.lengths.long_exchange, 4u << 20);
  EXPECT_EQ(model.lengths.long_in_place, (4u << 10) + 1);
}

TEST(MachineModel, HasANameThatFindsIt) {
  for (const char* name :
       {"intel", "zen3", "zen4", "zen5", "ice lake", "sapphire rapids", "emerald rapids"}) {
    ASSERT_TRUE(model_named(name)) << name;
    EXPECT_NE(model_names().find(name), std::string::npos);
  }
  EXPECT_FALSE(model_named("unknown"));
}

TEST(Processor, TellsTheCachesOfTheFirstThatIsAllowed) {
  const std::string first = std::to_string(cpu_limits().processors.front());
  MadeUpTree::Files files;
  const auto cache = [&](const char* index, const char* level, const char* type, const char* size,
                         const char* sharers) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + first + "/cache/" + index + "/";
    files[folder + "level"] = level;
    files[folder + "type"] = type;
    files[folder + "size"] = size;
    files[folder + "shared_cpu_list"] = sharers;
  };
  cache("index0", "1", "Data", "48K", "0");
  cache("index1", "1", "Instruction", "32K", "0");
  cache("index2", "2", "Unified", "2048K", "0");
  cache("index3", "3", "Unified", "266240K", "0-1,4");
  const MadeUpTree tree(files);
  const Processor here = this_processor({.root = tree.root(), .affinity = {}});
  EXPECT_EQ(here.l1, 48u << 10);
  EXPECT_EQ(here.l2, 2u << 20);
  EXPECT_EQ(here.l3, 260u << 20);
  EXPECT_EQ(here.l3_sharers, 3);
}

TEST(Processor, HasNoCachesWhereTheKernelNamesNone) {
  const MadeUpTree tree({});
  const Processor here = this_processor({.root = tree.root(), .affinity = {}});
  EXPECT_EQ(here.l1 + here.l2 + here.l3, 0u);
}

}  // namespace
}  // namespace weft
