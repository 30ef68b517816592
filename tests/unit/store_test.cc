// The rendezvous stores.
#include "weft/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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

void make_directory(const std::string& path, unsigned mode) {
  ::mkdir(path.c_str(), 0700);
  ::chmod(path.c_str(), mode);
}

TEST(FileStore, RefusesDirectoriesThatOthersControl) {
  Directory directory;
  struct Row {
    const char* what;
    std::function<void(const std::string&)> prepare;
  };
  const std::vector<Row> rows = {
      {"a file", [](const std::string& path) { std::ofstream(path) << "x"; }},
      {"writable by all", [](const std::string& path) { make_directory(path, 0777); }},
      {"writable by its group", [](const std::string& path) { make_directory(path, 0770); }},
      {"sticky", [](const std::string& path) { make_directory(path, 01777); }},
  };
  for (const Row& row : rows) {
    const std::string path = directory / row.what;
    row.prepare(path);
    EXPECT_THROW(file_store(path), InvalidArgument) << row.what;
  }
  EXPECT_THROW(file_store(""), InvalidArgument);
}

// A directory that holds a store, which others may write to only if it is sticky.
TEST(FileStore, LiesInADirectoryThatOthersDoNotControl) {
  struct Row {
    unsigned mode;
    uid_t owner;
    bool refused;
  };
  const uid_t me = ::geteuid();
  const std::vector<Row> rows = {{0700, me, false}, {0755, me, false},  {0770, me, true},
                                 {0702, me, true},  {01777, me, false}, {01770, me, false},
                                 {01777, 1, true},  {0755, 1, true}};
  for (const Row& row : rows) {
    Directory directory;
    const std::string path = directory / "job";
    make_directory(path, row.mode);
    if (row.owner != me && ::chown(path.c_str(), row.owner, 1) != 0) continue;  // not root
    std::string said;
    try {
      file_store(path, "part")->set("key", "value");
      EXPECT_EQ(mode_of(path + "/part"), 0700u);
    } catch (const InvalidArgument& error) {
      said = error.what();
    }
    EXPECT_EQ(!said.empty(), row.refused) << std::oct << row.mode << ' ' << row.owner << said;
    if (row.refused) {
      EXPECT_NE(said.find(path), std::string::npos) << said;
      EXPECT_NE(said.find("name "), std::string::npos) << said;
    }
  }
  EXPECT_NO_THROW(file_store("/tmp", "weft-store-test-" + std::to_string(::getpid())));
  ::rmdir(("/tmp/weft-store-test-" + std::to_string(::getpid())).c_str());
}

// Somebody else may leave a link of the part's name in a sticky directory.
TEST(FileStore, FollowsNoLinkToItsPart) {
  Directory directory;
  make_directory(directory / "mine", 0700);
  ASSERT_EQ(::symlink((directory / "mine").c_str(), (directory / "part").c_str()), 0);
  EXPECT_THROW(file_store(directory.path(), "part"), InvalidArgument);
}

// So the others learn at once why a rank cannot come.
TEST(FileStore, TellsAlsoWithNoDescriptorLeft) {
  Directory directory;
  const auto before = file_store(directory.path(), "part");
  rlimit whole{};
  ::getrlimit(RLIMIT_NOFILE, &whole);
  const rlimit few{64, whole.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> taken;
  for (int fd; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  const int why = errno;
  const std::string text = std::string("100% of\0 it/", 12) + std::string(900, 'x');
  file_store(directory.path(), "part")->set("late", text);
  before->set("early", text);
  EXPECT_THROW(before->set("early", text), InvalidArgument);
  for (int fd : taken) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &whole);
  EXPECT_EQ(why, EMFILE);
  EXPECT_EQ(before->get("late", milliseconds(0)), text);
  EXPECT_EQ(before->get("early", milliseconds(0)), text);
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
