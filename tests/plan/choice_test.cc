// Algorithms as users write them.
#include <gtest/gtest.h>

#include <vector>

#include "weft/error.h"
#include "weft/registry.h"

namespace weft {
namespace {

struct Spelled {
  const char* text;
  Choice choice;
  const char* normal;
};

TEST(Choice, IsReadAndWritten) {
  const std::vector<Spelled> table = {
      {"ring", {"ring", {}, 0}, "ring"},
      {" allreduce/ring ", {"allreduce/ring", {}, 0}, "allreduce/ring"},
      {"knomial(radix=4)", {"knomial", {{"radix", 4}}, 0}, "knomial(radix=4)"},
      {"two_shot( chunk = 64K )", {"two_shot", {}, 65536}, "two_shot(chunk=64K)"},
      {"two_shot(chunk=1000)", {"two_shot", {}, 1000}, "two_shot(chunk=1000)"},
      {"x(chunk=2M,a=-1)", {"x", {{"a", -1}}, 2u << 20}, "x(a=-1,chunk=2M)"},
      {"chain(order=[0, 2,1])",
       {"chain", {{"order", std::vector<int>{0, 2, 1}}}, 0},
       "chain(order=[0,2,1])"},
      {"m(outer=ring,inner=direct)",
       {"m", {{"inner", "direct"}, {"outer", "ring"}}, 0},
       "m(inner=direct,outer=ring)"},
  };
  for (const Spelled& row : table) {
    EXPECT_EQ(parse_choice(row.text), row.choice) << row.text;
    EXPECT_EQ(to_text(row.choice), row.normal);
    EXPECT_EQ(parse_choice(row.normal), row.choice) << row.normal;
  }
}

TEST(Choice, RefusesWhatItCannotRead) {
  for (const char* text : {"", "(a=1)", "ring()", "ring(a)", "ring(a=)", "ring(a=1", "ring(a=1)b",
                           "ring(a=1,a=2)", "ring(chunk=0)", "ring(chunk=-4)", "ring(chunk=x)",
                           "ring(chunk=1,chunk=1)", "ring=3", "c(order=[1,)", "c(a=1;2)"})
    EXPECT_THROW(parse_choice(text), InvalidArgument) << text;
}

TEST(Choice, FindsTheAlgorithmWithItsParameters) {
  Algorithm found = find_algorithm("lr_rab(node=4,chunk=64K)");
  EXPECT_EQ(found.name, "allreduce/multi_leader");
  EXPECT_EQ(found.chunk, 65536u);
  EXPECT_EQ(found.preset, (Params{{"node", 4}, {"inner", "ring"}, {"outer", "rabenseifner"}}));
  // What is written goes before what the alias says; what the caller gives before both.
  EXPECT_EQ(find_algorithm("lr_rab(outer=ring)").preset.at("outer"), Param("ring"));
  EXPECT_EQ(make_plan("knomial(radix=4)", 8).shape.params.at("radix"), Param(4));
  EXPECT_EQ(make_plan("knomial(radix=4)", 8, {{"radix", 3}}).shape.params.at("radix"), Param(3));
  EXPECT_THROW(make_plan("knomial(radiks=4)", 8), InvalidArgument);
}

}  // namespace
}  // namespace weft
