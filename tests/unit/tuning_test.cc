// Tuning files: what is read, and what is said of those that are wrong.
#include "select/tuning.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <unistd.h>

#include "base/hardware.h"
#include "weft/error.h"

namespace weft {
namespace {

class File {
 public:
  explicit File(const std::string& text) : name_(::testing::TempDir() + "weft_tuning_XXXXXX") {
    close(mkstemp(name_.data()));
    std::ofstream(name_) << text;
  }
  ~File() { std::remove(name_.c_str()); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// A file whose second row is `row`.
std::string with_row(const std::string& row) {
  return R"({"weft_tuning": 1, "machine": {"processor": "p", "cores": 2}, "rows": [
    {"collective": "allreduce", "ranks": [2, 2], "bytes": [0, 16384], "symmetric": false,
     "use": "built-in", "measured": [{"bytes": 8192, "us": {"allreduce/one_shot": 1.5}}]},)" +
         row + "]}";
}

TEST(Tuning, IsRead) {
  File file(with_row(R"json({"collective": "broadcast", "ranks": [3, null], "nodes": [2, 4],
                         "bytes": [1, null], "use": "knomial(radix=4,chunk=64K)"})json"));
  const std::vector<Row> rows = read_tuning(file.name());
  const std::vector<Row> wanted = {
      {Collective::kAllreduce, {2, 2}, {}, {0, 16384}, false, {kAsBuiltIn, {}, 0}},
      {Collective::kBroadcast,
       {3, Extent<int>{}.to},
       {2, 4},
       {1, Extent<std::size_t>{}.to},
       {},
       {"knomial", {{"radix", 4}}, 65536}}};
  EXPECT_EQ(rows, wanted);
  EXPECT_EQ(rows_of(to_json(rows)), rows);
  EXPECT_FALSE(measured_here(file.name()));
}

void expect_refused(const std::string& text, const std::string& said) {
  File file(text);
  try {
    read_tuning(file.name());
    ADD_FAILURE() << "read: " << text;
  } catch (const InvalidArgument& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find(file.name() + ": "), 0u) << what;
    EXPECT_NE(what.find(said), what.npos) << what << "\n  lacks: " << said;
  }
}

TEST(Tuning, SaysWhatIsWrongWithTheFile) {
  expect_refused("{\"weft_tuning\": 1,\n \"rows\" []}", "parse error at line 2");
  expect_refused("[]", "no tuning file");
  expect_refused("{\"rows\": []}", "no tuning file");
  expect_refused(R"({"weft_tuning": 2, "rows": []})", "version 2, but Weft reads version 1");
  expect_refused(R"({"weft_tuning": 1, "rows": []})", "lacks \"machine\"");
  expect_refused(R"({"weft_tuning": 1, "machine": {"processor": "p"}, "rows": []})",
                 "lacks \"cores\"");
  EXPECT_THROW(read_tuning("/nowhere/tuning.json"), InvalidArgument);
}

TEST(Tuning, SaysWhatIsWrongWithARow) {
  const std::string start = R"({"collective": "allreduce", "ranks": [4, 4], "bytes": [0, 8], )";
  const std::pair<const char*, const char*> table[] = {
      {R"({"collective": "allreduce"})", "row 2: it lacks \"bytes\""},
      {R"({"colective": "allreduce"})",
       "row 2: there is no \"colective\"; there are: bytes, collective,"},
      {R"({"collective": "allreduc", "ranks": [4, 4], "bytes": [0, 8], "use": "ring"})",
       "allreduc"},
      {R"({"collective": "allreduce", "ranks": 4, "bytes": [0, 8], "use": "ring"})", "[from, to]"},
      {R"({"collective": "allreduce", "ranks": [4, 2], "bytes": [0, 8], "use": "ring"})", "before"},
      {R"({"collective": "allreduce", "ranks": [4, 4], "bytes": [0, -8], "use": "ring"})", "whole"},
      {R"({"collective": "allreduce", "ranks": [4, 4], "bytes": [0, 8], "use": 3})", "use is 3"},
  };
  for (const auto& [row, said] : table) expect_refused(with_row(row), said);
  const std::pair<const char*, const char*> uses[] = {
      {"\"use\": \"rign\"}", "row 2: there is no algorithm \"rign\" for allreduce"},
      {"\"use\": \"knomial\"}", "for allreduce"},
      {"\"use\": \"ring(radix=2)\"}", "no parameter \"radix\""},
      {"\"use\": \"ring(\"}", "parameter"},
      {"\"use\": \"tree_levels(node=3)\"}", "cannot serve 4 ranks"},
      {"\"use\": \"direct\"}", "reaches into peers' memory"},
      {"\"use\": \"ring\", \"symmetric\": 1}", "neither true nor false"},
  };
  for (const auto& [use, said] : uses) expect_refused(with_row(start + use), said);
  expect_refused(
      with_row(
          R"({"collective": "alltoall", "ranks": [4, 4], "bytes": [0, null], "use": "two_level"})"),
      "serves equal counts only");
}

TEST(Tuning, KnowsItsMachine) {
  nlohmann::json file = {{"weft_tuning", 1}, {"rows", nlohmann::json::array()}};
  file["machine"] = {{"processor", read_hardware().processor},
                     {"cores", sysconf(_SC_NPROCESSORS_ONLN)}};
  EXPECT_TRUE(measured_here(File(file.dump()).name()));
}

}  // namespace
}  // namespace weft
