// A tuning file: rank 0 reads it, all ranks go by it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/ranks.h"
#include "support/variable.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

// In a folder of its own, which goes with it.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "weft_tuning_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr const char* kTable =
    R"json({"weft_tuning": 1, "machine": {"processor": "p", "cores": 1}, "rows": [
  {"collective": "allreduce", "ranks": [3, 3], "bytes": [0, 4000], "use": "ring"},
  {"collective": "allreduce", "ranks": [2, 2], "bytes": [0, null], "use": "two_shot"}]})json";

std::string chosen(Communicator& comm, std::size_t count) {
  std::vector<float> data(count, 1.0f);
  Call call{Collective::kAllreduce, data.data(), data.data(), count, DType::kF32};
  comm.run(call);
  EXPECT_EQ(data.front(), comm.size());
  EXPECT_EQ(data.back(), comm.size());
  return comm.algorithm_for(call);
}

TEST(TuningTable, OfRankZeroIsEveryones) {
  Folder folder;
  const std::string file = folder.write("tuning.json", kTable);
  run_ranks(
      3,
      [](Communicator& comm) {
        EXPECT_EQ(chosen(comm, 1000), "allreduce/ring");
        EXPECT_EQ(chosen(comm, 1001), "allreduce/one_shot");
        auto pair = comm.split(comm.rank() == 2 ? 1 : 0, 0);
        EXPECT_EQ(chosen(*pair, 8), comm.rank() == 2 ? "allreduce/one_shot" : "allreduce/two_shot");
      },
      [&](int rank, CommunicatorOptions& options) {
        options.tuning = rank == 0 ? file : "/not/read";
      });
}

TEST(TuningTable, IsFoundWhereTheUserKeepsIt) {
  Folder folder;
  const std::string file = folder.write("named.json", kTable);
  folder.write("weft/tuning.json", kTable);
  Variable home("XDG_CONFIG_HOME", folder.path());
  const auto expect = [](const char* algorithm) {
    run_ranks(3, [&](Communicator& comm) { EXPECT_EQ(chosen(comm, 8), algorithm); });
  };
  {
    Variable named("WEFT_TUNING", file);
    expect("allreduce/ring");
  }
  Variable unnamed("WEFT_TUNING", "");
  expect("allreduce/one_shot");  // measured on another machine
}

TEST(TuningTable, WhatIsWrongIsToldToAllRanks) {
  for (const auto& error : try_ranks(
           2, [](Communicator&) {}, std::chrono::seconds(60),
           [](int, CommunicatorOptions& options) { options.tuning = "/nowhere/tuning.json"; })) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const InvalidArgument& wrong) {
      EXPECT_EQ(std::string(wrong.what()), "rank 0: /nowhere/tuning.json: it cannot be read");
    }
  }
}

TEST(TuningTable, RanksThatCutDifferentlyAreTold) {
  const auto errors = try_ranks(2, [](Communicator& comm) {
    std::vector<float> data(1 << 16);
    Call call{Collective::kAllreduce, data.data(), data.data(), data.size(), DType::kF32};
    call.algorithm = comm.rank() == 0 ? "two_shot(chunk=1K)" : "two_shot(chunk=2K)";
    comm.run(call);
  });
  EXPECT_TRUE(errors[0] && errors[1]);
}

}  // namespace
}  // namespace weft::testing
