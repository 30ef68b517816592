// What fabric.h promises between processes. The peer is this very binary, started again
// with a part to play in its environment (and by WEFT_TEST_EMULATOR, where the machine cannot
// start it by itself).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "conformance/fabrics.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

constexpr const char* kPart = "WEFT_TEST_PART";            // what the child does
constexpr const char* kKind = "WEFT_TEST_FABRIC";          // over which fabric
constexpr const char* kDirectory = "WEFT_TEST_DIRECTORY";  // of the store; it is rank 1 of 2
constexpr std::size_t kBulk = 3 << 20;

const FabricKind& kind_named(const std::string& name) {
  for (const FabricKind& kind : fabric_kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error("no fabric " + name);
}

void fill(std::byte* data, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
}

// Sends `n` as small payload and a whole buffer by reference, waits for the like.
void exchange_round(LaneRank& r, const SymmetricBlock& block, std::uint64_t n) {
  const int peer = 1 - r.me;
  fill(block.data, kBulk, static_cast<unsigned>(n) + static_cast<unsigned>(r.me));
  post(*r.lane, peer, 0, n, {}, &n, sizeof n);
  post(*r.lane, peer, 1, n, {}, block.data, kBulk, block.where);
  std::uint64_t seen = 0;
  std::memcpy(&seen, r.await_payload(peer, 0, n).data, sizeof seen);
  if (seen != n) throw std::runtime_error("wrong small payload");
  const Delivery arrived = r.await_payload(peer, 1, n);
  std::vector<std::byte> expected(kBulk);
  fill(expected.data(), kBulk, static_cast<unsigned>(n) + static_cast<unsigned>(peer));
  if (std::memcmp(arrived.data, expected.data(), kBulk) != 0) {
    throw std::runtime_error("wrong bulk payload");
  }
  for (int channel : {0, 1}) r.lane->credit(peer, channel, n + 1);
  await("memory", [&] { return r.lane->settled(peer, 1, n, kBulk); });
}

void exchange_rounds(LaneRank& r) {
  const SymmetricBlock block = r.fabric->allocate(kBulk);
  for (std::uint64_t n = 0; n < 5; ++n) exchange_round(r, block, n);
  r.fabric->release(block);
}

constexpr std::size_t kChurned = 1536 << 10;  // more than any fabric sends with the message

// Bulk payloads of rank 1, each in a segment of its own that is released at once.
void churn(LaneRank& r) {
  for (std::uint64_t n = 0; n < 300; ++n) {
    if (r.me == 1) {
      const SymmetricBlock block = r.fabric->allocate(kChurned);
      block.data[100] = static_cast<std::byte>(n);
      post(*r.lane, 0, 0, n, {}, block.data, kChurned, block.where);
      await("memory", [&] { return r.lane->settled(0, 0, n, kChurned); });
      r.fabric->release(block);
    } else {
      const std::byte seen = r.await_payload(1, 0, n).data[100];
      if (seen != static_cast<std::byte>(n)) throw std::runtime_error("wrong memory");
      r.lane->credit(1, 0, n + 1);
    }
  }
}

void stay_for_ever() {
  for (;;) ::pause();
}

// A forked process may have fabrics of its own. The thread sanitizer takes no new threads
// after a fork.
#ifndef __SANITIZE_THREAD__
void make_own_lane() {
  const FabricKind& kind = kind_named(std::getenv(kKind));
  const auto left = kind.make(), right = kind.make();
  const std::vector<std::string> addresses = {left->address(), right->address()};
  const auto mine = left->open(addresses, 0, patience());
  const auto theirs = right->open(addresses, 1, patience());
  const std::vector<std::string> tickets = {mine->ticket(), theirs->ticket()};
  std::thread other([&] { theirs->connect(tickets, patience()); });
  mine->connect(tickets, patience());
  other.join();
  post(*mine, 1, 0, 0, {}, nullptr, 0);
  await("message", [&] { return theirs->arrival(0, 0, 0) != nullptr; });
}
#endif

// A grandchild that outlives this process and holds whatever it inherited.
void leave_a_grandchild(LaneRank& r) {
  if (::fork() > 0) stay_for_ever();
  ::alarm(60);
  std::string refused = "not refused";
  try {
    r.fabric->allocate(4096);
  } catch (const Unsupported& error) {
    refused = error.what();
  }
#ifndef __SANITIZE_THREAD__
  make_own_lane();
#endif
  r.store.set("grandchild", std::to_string(::getpid()) + " " + refused);
  stay_for_ever();
}

constexpr std::size_t kStored = 4096 * 3;

std::byte* unreadable = nullptr;  // of a page, until somebody tries

// Stands still inside a store into rank 0's output, and finishes it when it goes on: to read the
// first page of the source stops this process.
void stand_still_in_a_store(LaneRank& r) {
  const SymmetricBlock source = r.fabric->allocate(kStored);
  std::memset(source.data, 7, kStored);
  unreadable = source.data;
  ::signal(SIGSEGV, [](int) {
    ::raise(SIGSTOP);
    ::mprotect(unreadable, 4096, PROT_READ | PROT_WRITE);
  });
  ::mprotect(unreadable, 4096, PROT_NONE);
  const Location where{std::stoull(r.exchange("where", "")[0])};
  const auto put = [&] {
    Reader reader{.peer = 0, .output = where};
    Slot slot{};
    Outgoing out{.readers = {&reader, 1}, .source = source.data, .bytes = kStored};
    out.aimed = true;
    out.slot = &slot;
    r.lane->prepare(out);
    if (reader.holds_slot) throw std::runtime_error("it does not store");
    r.lane->post(out);
  };
  put();
  try {
    put();
  } catch (const Aborted&) {
    return;
  }
  throw std::runtime_error("may store after an abort");
}

const std::map<std::string, void (*)(LaneRank&)> kParts = {
    {"store", stand_still_in_a_store},
    {"exchange", exchange_rounds},
    {"churn", churn},
    {"stay", [](LaneRank&) { stay_for_ever(); }},
    {"spin",
     [](LaneRank& r) {
       while (!r.lane->troubled()) {
       }
     }},
    {"fork", leave_a_grandchild},
};

// Plays a part instead of the tests, if the environment names one.
class Player : public ::testing::Environment {
  void SetUp() override {
    const char* part = std::getenv(kPart);
    if (part == nullptr) return;
    ::alarm(60);  // nobody outlives a test that crashed
    int code = 1;
    try {
      const auto store = file_store(std::getenv(kDirectory));
      LaneRank rank = join_lane(kind_named(std::getenv(kKind)).make(), *store, 1, 2);
      kParts.at(part)(rank);
      code = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::_Exit(code);
  }
};
[[maybe_unused]] const auto* const player = ::testing::AddGlobalTestEnvironment(new Player);

// A child that plays `part` as rank 1, and this process as rank 0.
class Pair {
 public:
  Pair(const FabricKind& kind, const std::string& part) {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    directory_ = name;
    std::vector<std::string> environment = {std::string(kPart) + "=" + part,
                                            std::string(kKind) + "=" + kind.name,
                                            std::string(kDirectory) + "=" + directory_};
    // The choice of this process's cases, such as a shard, may leave the child none.
    for (char** each = environ; *each; ++each)
      if (!std::string_view(*each).starts_with("GTEST_")) environment.emplace_back(*each);
    start(environment);
    store_ = file_store(directory_);
    rank.emplace(join_lane(kind.make(), *store_, 0, 2));
  }
  ~Pair() {
    kill();
    rank.reset();
    std::filesystem::remove_all(directory_);
  }

  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = -1;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  pid_t pid() const { return pid_; }

  std::optional<LaneRank> rank;

 private:
  void start(std::vector<std::string>& environment) {
    std::vector<char*> words;
    for (std::string& word : environment) words.push_back(word.data());
    words.push_back(nullptr);
    // Any one test: the part is played before it starts.
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string filter = "--gtest_filter=*FabricProcessTest.*";
    const char* const emulator = std::getenv("WEFT_TEST_EMULATOR");
    std::string program = emulator ? emulator : self;
    // The emulator takes a program and its arguments; the program by itself is its own name.
    std::vector<char*> arguments = {program.data(), self.data(), filter.data(), nullptr};
    if (!emulator) arguments.erase(arguments.begin());
    posix_spawn_file_actions_t quiet;
    ::posix_spawn_file_actions_init(&quiet);
    ::posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ASSERT_EQ(
        ::posix_spawn(&pid_, program.c_str(), &quiet, nullptr, arguments.data(), words.data()), 0);
    ::posix_spawn_file_actions_destroy(&quiet);
  }

  std::string directory_;
  std::shared_ptr<Store> store_;
  pid_t pid_ = 0;
};

class FabricProcessTest : public ::testing::TestWithParam<FabricKind> {
 protected:
  // Kills the peer with `kill` and expects that the lane says so in time.
  static void expect_loss(Pair& pair, const std::function<void()>& kill) {
    LaneRank& r = *pair.rank;
    const std::string pid = std::to_string(pair.pid());
    EXPECT_EQ(r.lane->lost(1), "");
    EXPECT_FALSE(r.lane->troubled());
    const auto start = Clock::now();
    kill();
    await("loss", [&] { return r.lane->troubled(); });
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
    EXPECT_NE(r.lane->lost(1).find(pid + " died"), std::string::npos) << r.lane->lost(1);
    EXPECT_EQ(r.lane->why_aborted(), "");
    if (r.loads(1)) {
      EXPECT_THROW(r.lane->reach(1, {std::uint64_t{77} << 40}, 1), PeerLost);
    }
  }
};

TEST_P(FabricProcessTest, ExchangesSmallAndBulkPayloads) {
  Pair pair(GetParam(), "exchange");
  exchange_rounds(*pair.rank);
  EXPECT_EQ(pair.wait(), 0);
}

int shared_mappings() {
  int mappings = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    mappings += line.find("memfd:weft") != std::string::npos;
  }
  return mappings;
}

TEST_P(FabricProcessTest, ReleasedSegmentsDoNotPileUpAtThePeer) {
  Pair pair(GetParam(), "churn");
  const int before = shared_mappings();
  churn(*pair.rank);
  EXPECT_LE(shared_mappings(), before + 3);
  EXPECT_EQ(pair.wait(), 0);
}

TEST_P(FabricProcessTest, AnAbortCrosses) {
  Pair pair(GetParam(), "spin");
  pair.rank->lane->abort("enough");
  EXPECT_EQ(pair.wait(), 0);
}

TEST_P(FabricProcessTest, NoticesAKilledPeer) {
  Pair pair(GetParam(), "stay");
  expect_loss(pair, [&] { pair.kill(); });
}

TEST_P(FabricProcessTest, NoticesAKilledPeerWhileBothSpin) {
  Pair pair(GetParam(), "spin");
  expect_loss(pair, [&] { ::kill(pair.pid(), SIGKILL); });
}

TEST_P(FabricProcessTest, NoticesAKilledPeerWhoseChildLivesOn) {
  Pair pair(GetParam(), "fork");
  std::istringstream grandchild(pair.rank->store.get("grandchild", std::chrono::seconds(30)));
  pid_t pid = 0;
  std::string refused;
  std::getline(grandchild >> pid, refused);
  EXPECT_NE(refused.find("forked"), std::string::npos) << refused;
  expect_loss(pair, [&] { pair.kill(); });
  EXPECT_EQ(::kill(pid, 0), 0) << "it lived all the time";
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
}

// A forked child that ends, with all destructors, leaves the lane and the memory alone.
TEST_P(FabricProcessTest, AForkedChildDisturbsNothing) {
  run_lane(GetParam(), 2, [](LaneRank& r) {
    const int peer = 1 - r.me;
    SymmetricBlock block = r.fabric->allocate(1 << 16);
    fill(block.data, block.bytes, 3);
    r.meet("before");
    if (r.me == 0) {
      const pid_t child = ::fork();
      if (child == 0) {
        int refused = 0;
        const auto expect_refusal = [&](auto call) {
          try {
            call();
          } catch (const Unsupported&) {
            ++refused;
          }
        };
        expect_refusal([&] { r.fabric->allocate(4096); });
        expect_refusal([&] { r.fabric->open({r.fabric->address()}, 0, patience()); });
        expect_refusal([&] { post(*r.lane, peer, 0, 0, {}, nullptr, 0); });
        expect_refusal([&] { r.lane->credit(peer, 0, 1); });
        expect_refusal([&] { r.lane->abort("from the child"); });
        r.fabric->release(block);
        r.lane.reset();
        r.fabric.reset();
        std::_Exit(refused);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(WEXITSTATUS(status), 5);
    }
    r.meet("after");
    EXPECT_FALSE(r.lane->troubled());
    std::vector<std::byte> expected(block.bytes);
    fill(expected.data(), expected.size(), 3);
    EXPECT_EQ(0, std::memcmp(block.data, expected.data(), block.bytes));
    std::uint64_t n = 0;
    post(*r.lane, peer, 0, 0, {}, &n, sizeof n);
    r.await_message(peer, 0, 0);
    r.fabric->release(block);
  });
}

// Descriptors, threads, mappings and shared memory files of this process.
std::string belongings() {
  const auto count = [](const char* path) {
    const std::filesystem::directory_iterator all(path);
    return std::to_string(std::distance(begin(all), end(all)));
  };
  return count("/proc/self/fd") + " descriptors, " + count("/proc/self/task") + " threads, " +
         count("/dev/shm") + " files, " + std::to_string(shared_mappings()) + " mappings";
}

// The same, once it no longer changes: the system counts a thread a little longer than its join.
std::string lasting_belongings() {
  std::string before, now = belongings();
  do {
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    now = belongings();
  } while (now != before);
  return now;
}

TEST_P(FabricProcessTest, NothingIsLeftBehind) {
  const auto play = [&] {
    {
      Pair pair(GetParam(), "exchange");
      exchange_rounds(*pair.rank);
      pair.wait();
    }
    {
      Pair pair(GetParam(), "stay");
      pair.kill();
    }
    run_lane(GetParam(), 3, [](LaneRank& r) {
      const SymmetricBlock block = r.fabric->allocate(1 << 22);
      r.fabric->release(block);
    });
  };
  play();  // what is made once for the process
  const std::string before = lasting_belongings();
  play();
  EXPECT_EQ(lasting_belongings(), before);
  EXPECT_NE(before.find(" 0 mappings"), std::string::npos) << before;
}

// A failed call gives its buffers back though a peer stands still in the middle of a store.
TEST_P(FabricProcessTest, WhatAPeerStoresLateIsNotSeen) {
  Pair pair(GetParam(), "store");
  LaneRank& r = *pair.rank;
  const SymmetricBlock block = r.fabric->allocate(kStored);
  fill(block.data, kStored, 3);
  if (!r.loads(1)) return;  // then it stores nothing here
  r.exchange("where", std::to_string(block.where.bits));
  ASSERT_EQ(::waitpid(pair.pid(), nullptr, WUNTRACED), pair.pid());

  r.lane->abort("it stands still");
  const auto start = Clock::now();
  EXPECT_EQ(r.lane->end(Outcome::kFailed), 1);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(3));
  std::byte* const middle = block.data + 4096;
  EXPECT_TRUE(r.fabric->isolate(middle + 10, 100));
  EXPECT_FALSE(r.fabric->locate(middle + 4095, 1));
  EXPECT_FALSE(r.fabric->locate(block.data, kStored));
  EXPECT_EQ(r.fabric->locate(block.data, 4096).bits, block.where.bits);
  EXPECT_EQ(r.fabric->locate(middle + 4096, 4096).bits, (block.where + 2 * 4096).bits);

  ::kill(pair.pid(), SIGCONT);
  EXPECT_EQ(pair.wait(), 0);
  EXPECT_EQ(r.lane->end(Outcome::kFailed), Endpoint::kNobody);
  std::vector<std::byte> expected(kStored);
  fill(expected.data(), kStored, 3);
  EXPECT_EQ(std::memcmp(middle, expected.data() + 4096, 4096), 0);
  EXPECT_EQ(block.data[0], std::byte{7}) << "its neighbours are still shared";
  EXPECT_EQ(middle[4096], std::byte{7});
  r.fabric->release(block);
}

// Of two fabrics in one, each pair has one: they are tested by themselves. One is for threads only.
std::vector<FabricKind> single_kinds() {
  std::vector<FabricKind> kinds = fabric_kinds();
  std::erase_if(kinds, [](const FabricKind& kind) {
    return kind.name == "shm_ofi" || kind.name == "inprocess";
  });
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Fabrics, FabricProcessTest, ::testing::ValuesIn(single_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
