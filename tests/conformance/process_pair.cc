#include "conformance/process_pair.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

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

}  // namespace

void fill(std::byte* data, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
}

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

Pair::Pair(const FabricKind& kind, const std::string& part) {
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

void Pair::start(std::vector<std::string>& environment) {
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
  ASSERT_EQ(::posix_spawn(&pid_, program.c_str(), &quiet, nullptr, arguments.data(), words.data()),
            0);
  ::posix_spawn_file_actions_destroy(&quiet);
}

}  // namespace weft::testing
