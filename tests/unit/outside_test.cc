// Whatever comes from outside is read or refused with a typed error: files, names, and the words of
// other ranks.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "algorithms/registry.h"
#include "base/cpu.h"
#include "comm/rendezvous.h"
#include "fabric/composite/words.h"
#include "fabric/shm/address.h"
#include "fabric/shm/wire.h"
#include "fabric/ticket.h"
#include "select/settings.h"
#include "select/tuning.h"
#include "support/fuzz.h"
#include "weft/error.h"
#include "weft/plan.h"
#include "weft/registry.h"
#include "weft/verify.h"
#if WEFT_OFI
#include "fabric/ofi/session/address.h"
#include "fabric/ofi/session/notice.h"
#endif

namespace weft {
namespace {

using fuzz::expect_read_or_refused;
using fuzz::Mutator;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// A file with what a test writes there, until the test ends.
class File {
 public:
  File() : name_(::testing::TempDir() + "weft_outside_XXXXXX") { close(mkstemp(name_.data())); }
  ~File() { std::remove(name_.c_str()); }
  const std::string& with(const std::string& text) const {
    std::remove(name_.c_str());  // to write over a file waits for the disk
    std::ofstream(name_, std::ios::binary) << text;
    return name_;
  }

 private:
  std::string name_;
};

std::string tuning_with(const std::string& rows) {
  return R"({"weft_tuning": 1, "machine": {"processor": "p", "cores": 2}, "rows": [)" + rows + "]}";
}

const char* const kRow =
    R"json({"collective": "allreduce", "ranks": [2, null], "nodes": [1, 1], "bytes": [0, 65536],
            "symmetric": false, "use": "multi_leader(node=2,pieces=2,chunk=64K)",
            "measured": [{"bytes": 8, "us": {"allreduce/ring": 1.5}}]})json";

// `refuse` throws an InvalidArgument or InvalidPlan that says all of `said`.
void expect_refused(const std::function<void()>& refuse, const std::vector<std::string>& said) {
  try {
    refuse();
    ADD_FAILURE() << "not refused: " << said[0];
  } catch (const Error& error) {
    const std::string what = error.what();
    for (const std::string& word : said)
      EXPECT_NE(what.find(word), what.npos) << what.substr(0, 500);
    EXPECT_LT(what.size(), 1000u);
  }
}

TEST(Outside, TuningFilesHaveLimits) {
  const File file;
  const auto read = [&](const std::string& text) {
    return [&file, text] { read_tuning(file.with(text)); };
  };
  const std::string deep = repeated("[", 100'000) + repeated("]", 100'000);
  expect_refused(read(deep), {"nested deeper than 16"});
  expect_refused(read(tuning_with(deep)), {"nested deeper than 16"});
  expect_refused(read(R"({"weft_tuning": 1e400})"), {"1e400"});
  expect_refused(read("{\"weft_tuning\": \"\xff\"}"), {"line 1, column"});
  expect_refused(read(tuning_with(repeated(" ", 17 << 20))), {"bytes and may have 16777216"});
  std::string rows = kRow;
  for (int i = 0; i < 4096; ++i) rows += std::string(",") + kRow;
  expect_refused(read(tuning_with(rows)), {"4097 rows and may have 4096"});
  expect_refused([] { read_tuning("/dev/zero"); }, {"/dev/zero: it is no regular file"});
  const std::string start = R"({"collective": "allreduce", "ranks": [4, 4], "bytes": [0, 8], )";
  expect_refused(read(tuning_with(start + R"("use": "ring", "measured": 3})")),
                 {"row 1: measured lists no sizes"});
  const std::string pieces = "\"use\": \"multi_leader(node=2,pieces=2000000000)\"}";
  expect_refused(read(tuning_with(start + pieces)), {"row 1: "});
}

TEST(Outside, RowsForManyRanksAreCheckedAtOnce) {
  const File file;
  const auto rows_from = [&](const std::string& ranks) {
    return read_tuning(file.with(tuning_with(R"({"collective": "allreduce", "bytes": [0, null],
        "use": "ring", "ranks": [)" + ranks + ", null]}")));
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(rows_from("65536").size(), 1u);
  expect_refused([&] { rows_from("1000000"); },
                 {"row 1: ", "from 1000000 on", "begin at most 65536"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Outside, PlansTooLargeAreRefusedAtOnce) {
  const auto said = [](const std::string& text) { return to_text(verify(parse_plan(text))); };
  const std::string two = "plan barrier/x collective=barrier ranks=2 input=0 output=0\n";
  const std::string one = "plan allreduce/x collective=allreduce ranks=1 ";
  const std::vector<std::pair<std::string, std::string>> table = {
      {two + "rank 0\nonce rounds=2147483647\nflush\nrank 1\n", "accesses of rank 0"},
      {two + "rank 0\nrank 1\nonce rounds=65537\nflush\n", "accesses of rank 1"},
      {two + "channel 0 slots=2147483647\nrank 0\nrank 1\n", "slots of a channel"},
      {one + "input=2147483647 output=1\nrank 0\nchunks\ncopy output[0]=input[0]\n", "blocks"},
  };
  for (const auto& [text, what] : table) {
    EXPECT_NE(said(text).find("the plan is too large: "), std::string::npos) << said(text);
    EXPECT_NE(said(text).find(what), std::string::npos) << said(text);
  }
  const std::string most = said(two + "rank 0\nonce rounds=32768\nflush\nrank 1\n");
  EXPECT_EQ(most.find("too large"), std::string::npos) << most;
}

TEST(Outside, WordsOfOtherRanksAreChecked) {
  for (const std::string word : {"x", "5", "5:", "5:abc", "18446744073709551615:a", "-1:a", ":",
                                 "1:a2", "99999999999999999999:a"})
    expect_refused([&] { split_words(word); }, {"rendezvous is damaged"});
  expect_refused([] { Word::read("", 1); }, {"rendezvous is damaged"});
  expect_refused([] { Settings::parse("{}"); }, {"what rank 0 says of choosing"});
  expect_refused([] { Settings::parse(repeated("[", 100'000)); }, {"nested deeper"});
  EXPECT_EQ(densest({"kernel 0 0-2147483647"}).cores, 65536);
}

TEST(Outside, Tuning) {
  const File file;
  Mutator mutator({tuning_with(kRow), tuning_with(std::string(kRow) + ", " + kRow)},
                  {"\"ranks\"", "null", "\"measured\"", "true", kRow, "built-in", "direct"});
  expect_read_or_refused(mutator, [&](const std::string& text) { read_tuning(file.with(text)); });
}

TEST(Outside, Plans) {
  std::vector<std::string> seeds;
  for (const char* name : {"allreduce/ring", "allreduce/one_shot", "alltoall/pairwise",
                           "broadcast/knomial", "reduce_scatter/ring", "barrier/dissemination"})
    for (int ranks : {2, 3}) seeds.push_back(to_text(make_plan(name, ranks)));
  const Mutator mutator(
      seeds, {"rank", "chunks", "once", "rounds=3", "lag 1:", "put", "wait", "on 0", "credit",
              "reduce!", "slot[0]@1", "input[0]", "-> 1", "(0-1*i)%4"});
  expect_read_or_refused(mutator, [](const std::string& text) {
    const Plan plan = parse_plan(text);
    EXPECT_EQ(parse_plan(to_text(plan)), plan);
    (void)verify(plan, {1, {}});
  });
}

TEST(Outside, Choices) {
  const Mutator mutator(
      {"ring", "allreduce/multi_leader(node=2,pieces=2,chunk=64K)", "chain(order=[0,2,1,3])",
       "knomial(radix=4,chunk=1M)", "allreduce/tree_levels(node=2)",
       "two_level(outer=ring,node=2)"},
      {"chunk=", "G", "pieces=", "radix=", "node=", "order=[", "place=[0,1,0,1]"});
  expect_read_or_refused(mutator, [](const std::string& text) {
    const Choice choice = parse_choice(text);
    EXPECT_EQ(parse_choice(to_text(choice)), choice);
    const Algorithm algorithm = find_algorithm(text);
    if (refusal(algorithm, 4, algorithm.preset).empty()) make_rank_plan(algorithm, 1, 4, {});
  });
}

TEST(Outside, Rendezvous) {
  Settings settings;
  settings.algorithm = "ring";
  settings.tuned = {{Collective::kBroadcast, {3, 4}, {}, {}, true, {"knomial", {{"radix", 4}}, 0}}};
  const std::string words = join_words({settings.to_text(), "an address", "kernel 0 0-3", "host"});
  const Mutator mutator({words, join_words({"well", words})},
                        {"1:", "5:", ":", "null", "\"tuned\""});
  expect_read_or_refused(mutator, [](const std::string& text) {
    const std::vector<std::string> said = split_words(text);
    if (said.size() == 2) return (void)Word::read(text, 3);
    const std::vector<std::string> four = split_words(text, 4);
    (void)densest({four[2], four[3]});
    Settings::parse(four[0]);
  });
}

TEST(Outside, Addresses) {
  const std::string shm = shm::Address::own(Token::random()).text();
  const std::vector<std::string> words = {"shm", "ofi", "lane", " 0 ", "aa,bb", " : "};
  expect_read_or_refused(Mutator({shm}, words), shm::Address::parse);
  expect_read_or_refused(Mutator({ticket_of(7, 3, 1)}, words), [](const std::string& text) {
    parse_tickets({"", text, ""}, {false, true, false});
  });
  const std::string both = composite::Words{shm, "far"}.text("shm+ofi");
  expect_read_or_refused(Mutator({both}, words), [](const std::string& text) {
    composite::Words::parse("shm+ofi", text, "the address of a fabric");
  });
#if WEFT_OFI
  const std::string ofi = "ofi " + std::to_string(ofi::kWireVersion) + ' ' + Token::random().hex() +
                          " 12 host tcp 127.0.0.1 5000 0200138800000000,02001389";
  expect_read_or_refused(Mutator({ofi}, words), ofi::Address::parse);
#endif
}

// What `write` sends into one end of a pair of sockets, for `read` at the other.
void through_sockets(int type, const std::string& bytes, const std::function<void(int)>& read) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd near(ends[0]), far(ends[1]);
  (void)::send(near.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  read(far.get());
}

TEST(Outside, ShmMessages) {
  shm::Notice notice;
  notice.released = 2;
  const std::string bytes(reinterpret_cast<const char*>(&notice), shm::kNoticeHead + 8);
  expect_read_or_refused(Mutator({bytes}, {bytes}), [](const std::string& text) {
    through_sockets(SOCK_SEQPACKET, text, [](int socket) {
      const shm::Received got = shm::receive_notice(socket);
      if (got.what != shm::Received::What::kNotice) throw InvalidArgument("nonsense");
      EXPECT_LE(got.notice.released, shm::Notice::kMostReleased);
    });
  });
}

#if WEFT_OFI
TEST(Outside, OfiMessages) {
  ofi::Notice notice;
  notice.head.text = 5;
  const std::string head(reinterpret_cast<const char*>(&notice.head), sizeof notice.head);
  expect_read_or_refused(Mutator({head + "hello", head + "hello" + head + "again"}, {head}),
                         [](const std::string& text) {
                           through_sockets(SOCK_STREAM, text, [](int socket) {
                             ofi::Talk talk(LiveFd([&] { return ::dup(socket); }));
                             ofi::Notice got;
                             if (talk.receive(got) != ofi::Talk::What::kNotice)
                               throw InvalidArgument("nonsense");
                             EXPECT_LE(got.text.size(), ofi::Notice::kMostText);
                           });
                         });
}
#endif

}  // namespace
}  // namespace weft
