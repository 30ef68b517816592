// weft_rank_tests: the conformance suite with one process a rank, started by a launcher.
//
//   WEFT_TEST_FABRIC=mpi WEFT_TEST_DIRECTORY=/tmp/new mpirun -n 3 weft_rank_tests
//
// A case that does not end within WEFT_TEST_LIMIT seconds (90) ends its process, and the launcher
// then ends the job.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "ranks/job.h"

namespace weft::testing {
namespace {

// Seconds that a case may take.
unsigned longest_case() {
  const char* const given = std::getenv("WEFT_TEST_LIMIT");
  return given ? static_cast<unsigned>(std::atoi(given)) : 90;
}

// What the handler of the alarm says.
char late[512];

void say_that_it_is_late(int) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, late, std::strlen(late));
  ::_exit(1);
}

void end_in_time(const std::string& what) {
  ::alarm(0);
  const unsigned limit = longest_case();
  std::snprintf(late, sizeof late, "%s: not over after %u s: %s\n", name_of_this_rank().c_str(),
                limit, what.c_str());
  ::alarm(limit);
}

std::string name_of(const ::testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

// Says which rank fails in what, on every rank.
class Reporter final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    name_ = name_of(test);
    end_in_time(name_);
  }

  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (!part.failed()) return;
    std::printf("%s: %s fails\n%s:%d: %s\n", name_of_this_rank().c_str(), name_.c_str(),
                part.file_name() ? part.file_name() : "", part.line_number(), part.message());
    std::fflush(stdout);
  }

  void OnTestProgramEnd(const ::testing::UnitTest& all) override {
    std::printf("%s: %d passed, %d failed, %d skipped\n", name_of_this_rank().c_str(),
                all.successful_test_count(), all.failed_test_count(), all.skipped_test_count());
    std::fflush(stdout);
    end_in_time("the end of the process");
  }

  std::string name_;
};

int run_all(int count, char** words) {
  (void)job();
  ::testing::InitGoogleTest(&count, words);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  // One rank tells what runs and what is skipped.
  if (job().rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Reporter);
  ::signal(SIGALRM, say_that_it_is_late);
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace weft::testing

int main(int count, char** words) {
  try {
    return weft::testing::run_all(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft_rank_tests: %s\n", error.what());
    return 2;
  }
}
