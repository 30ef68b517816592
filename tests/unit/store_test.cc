// The rendezvous stores.
#include "weft/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "weft/error.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A directory that goes with the test.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-store-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct StoreKind {
  const char* name;
  std::shared_ptr<Store> (*make)(const Directory&);
};

class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  Directory directory_;
  std::shared_ptr<Store> store_ = GetParam().make(directory_);
};

TEST_P(StoreTest, KeepsAnyKeyAndValue) {
  std::string all_bytes;
  for (int c = 0; c < 256; ++c) all_bytes += static_cast<char>(c);
  const std::vector<std::string> keys = {
      "a", "A", "..", ".", "weft/lanes/0", "%2", "% 2/\n", "\xff", std::string(80, '/')};
  const std::vector<std::string> values = {"", "x", all_bytes, std::string(100000, 'y')};
  for (std::size_t i = 0; i < keys.size(); ++i) store_->set(keys[i], values[i % values.size()]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(store_->get(keys[i], milliseconds(0)), values[i % values.size()]) << keys[i];
  }
}

TEST_P(StoreTest, GetWaitsForSet) {
  std::thread setter;
  std::thread getter([&] {
    setter = std::thread([&] { store_->set("late", "here"); });
    EXPECT_EQ(store_->get("late", seconds(30)), "here");
  });
  getter.join();
  setter.join();
}

TEST_P(StoreTest, GetTimesOutNamingTheKey) {
  const auto start = std::chrono::steady_clock::now();
  try {
    store_->get("never", milliseconds(30));
    FAIL() << "nobody set it";
  } catch (const Timeout& error) {
    EXPECT_NE(std::string(error.what()).find("never"), std::string::npos) << error.what();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(30));
}

TEST_P(StoreTest, RefusesASecondValue) {
  store_->set("key", "first");
  EXPECT_THROW(store_->set("key", "second"), InvalidArgument);
  EXPECT_EQ(store_->get("key", milliseconds(0)), "first");
}

TEST_P(StoreTest, ManyThreadsExchange) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      store_->set("rank/" + std::to_string(me), std::string(5000, static_cast<char>('a' + me)));
      for (int peer = 0; peer < kThreads; ++peer) {
        EXPECT_EQ(store_->get("rank/" + std::to_string(peer), seconds(30)),
                  std::string(5000, static_cast<char>('a' + peer)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreTest,
    ::testing::Values(StoreKind{"memory", [](const Directory&) { return memory_store(); }},
                      StoreKind{"file",
                                [](const Directory& d) { return file_store(d / "deep/job"); }}),
    [](const auto& info) { return std::string(info.param.name); });

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(FileStore, IsForItsUserOnlyAndLeavesNoTemporaryFiles) {
  Directory directory;
  const auto store = file_store(directory / "job");
  store->set("key/1", "value");
  EXPECT_THROW(store->set("key/1", "value"), InvalidArgument);
  EXPECT_EQ(mode_of(directory / "job"), 0700u);
  EXPECT_EQ(mode_of(directory / "job/key%2F1"), 0600u);
  const std::filesystem::directory_iterator files(directory / "job");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(FileStore, TwoOfThemShareADirectory) {
  Directory directory;
  file_store(directory.path())->set("key", "value");
  EXPECT_EQ(file_store(directory.path())->get("key", milliseconds(0)), "value");
}

TEST(FileStore, RefusesDirectoriesThatOthersControl) {
  Directory directory;
  struct Row {
    const char* what;
    std::function<void(const std::string&)> prepare;
  };
  const std::vector<Row> rows = {
      {"a file", [](const std::string& path) { std::ofstream(path) << "x"; }},
      {"writable by all",
       [](const std::string& path) {
         ::mkdir(path.c_str(), 0700);
         ::chmod(path.c_str(), 0777);
       }},
  };
  for (const Row& row : rows) {
    const std::string path = directory / row.what;
    row.prepare(path);
    EXPECT_THROW(file_store(path), InvalidArgument) << row.what;
  }
  EXPECT_THROW(file_store(""), InvalidArgument);
}

TEST(FileStore, RefusesADirectoryOfAnotherUser) {
  Directory directory;
  if (::geteuid() != 0) {
    EXPECT_THROW(file_store("/"), InvalidArgument);
    return;
  }
  ASSERT_EQ(::chown(directory.path().c_str(), 1, 1), 0);
  EXPECT_THROW(file_store(directory.path()), InvalidArgument);
}

TEST(FileStore, RefusesKeysThatFitNoFileName) {
  Directory directory;
  const auto store = file_store(directory.path());
  EXPECT_THROW(store->set("", "value"), InvalidArgument);
  EXPECT_THROW(store->set(std::string(86, '/'), "value"), InvalidArgument);
}

}  // namespace
}  // namespace weft
