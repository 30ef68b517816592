// Which loops there are, and which instruction set is taken.
#include <gtest/gtest.h>

#include <string>

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

TEST(Kernels, FoundForExactlyTheReduciblePairs) {
  for (int d = 0; d < kDTypes; ++d) {
    for (int o = 0; o < kReduceOps; ++o) {
      const auto dtype = static_cast<DType>(d);
      const auto op = static_cast<ReduceOp>(o);
      EXPECT_EQ(find_reduce(dtype, op) != nullptr, reducible(dtype, op))
          << name_of(dtype) << " " << name_of(op);
      for (const Isa& isa : available_isas()) {
        EXPECT_EQ(isa.table->at(dtype, op) != nullptr, reducible(dtype, op)) << isa.name;
      }
    }
  }
}

TEST(Kernels, TheInstructionSetIsTheBestOrTheOneNamed) {
  EXPECT_EQ(choose_isa(nullptr).name, available_isas().front().name);
  EXPECT_EQ(choose_isa("").name, available_isas().front().name);
  for (const Isa& isa : available_isas()) EXPECT_EQ(choose_isa(isa.name.data()).name, isa.name);
  EXPECT_EQ(available_isas().back().name, "baseline");
  try {
    choose_isa("sse9");
    FAIL() << "accepted an unknown instruction set";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace weft::kernels
