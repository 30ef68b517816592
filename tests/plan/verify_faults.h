// A row of the tables of planted faults.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/verify_programs.h"

namespace weft::programs {

struct Wrong {
  const char* name;
  Collective collective;
  int ranks;
  Write write;
  Fault fault;
  int rank;
  const char* step;  // part of the step's text
  const char* text;  // part of what is said
};

inline void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.name; }

inline bool found(const VerifyReport& report, const Wrong& wrong) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.fault == wrong.fault && finding.rank == wrong.rank &&
           finding.step.find(wrong.step) != std::string::npos &&
           finding.text.find(wrong.text) != std::string::npos;
  });
}

// The finding is among those that the verifier makes of the plan.
inline void expect_found(const Wrong& wrong) {
  VerifyReport report = verify(plan_of(wrong.collective, wrong.ranks, wrong.write));
  EXPECT_TRUE(found(report, wrong)) << to_text(report);
  EXPECT_FALSE(report.consistent);
}

inline const char* const kEnd = "the end of the call";

}  // namespace weft::programs
