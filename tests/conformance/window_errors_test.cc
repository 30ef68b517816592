// Windows over every fabric: failures have names, and change nothing.
#include <algorithm>
#include <cstring>

#include "conformance/windows.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using WindowErrors = OnWindows;

template <typename E>
void expect_error(const std::function<void()>& call, const std::vector<std::string>& parts) {
  try {
    call();
    ADD_FAILURE() << "no error, though: " << parts.front();
  } catch (const E& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_P(WindowErrors, WrongArgumentsAreNamedAndChangeNothing) {
  run(2, [](Communicator& comm) {
    const auto window = Window::create(comm, 1000, 3);
    const int peer = 1 - comm.rank();
    const Bytes x(2000, 1);
    const std::string me = "rank " + std::to_string(comm.rank());
    const auto put = [&](std::size_t bytes, std::size_t offset, int target, int signal) {
      return [&, bytes, offset, target, signal] {
        window->put(x.data(), bytes, target, offset, SignalUpdate{signal});
      };
    };
    expect_error<InvalidArgument>(put(1001, 0, peer, 0), {me, "1001 bytes", "has 1000"});
    expect_error<InvalidArgument>(put(1, 1000, peer, 0), {me, "offset 1000"});
    expect_error<InvalidArgument>(put(10, ~std::size_t{0} - 4, peer, 0), {me, "do not lie"});
    expect_error<InvalidArgument>(put(1, 0, 2, 0), {me, "no rank 2", "0 to 1"});
    expect_error<InvalidArgument>(put(1, 0, -1, 0), {me, "no rank -1"});
    expect_error<InvalidArgument>(put(1, 0, peer, 3), {me, "no signal 3", "has 3"});
    expect_error<InvalidArgument>(put(1, 0, peer, -1), {me, "no signal -1"});
    expect_error<InvalidArgument>([&] { window->signal(peer, {7}); }, {me, "no signal 7"});
    expect_error<InvalidArgument>([&] { window->wait_signal(3); }, {me, "no signal 3"});
    expect_error<InvalidArgument>([&] { window->wait_some(1, 3); }, {me, "no signal 3"});
    expect_error<InvalidArgument>([&] { window->wait_some(1, 0); }, {me, "count is 0"});
    expect_error<InvalidArgument>([&] { window->fetch_reset(-1); }, {me, "no signal -1"});
    expect_error<InvalidArgument>([&] { window->quiet(milliseconds(-1)); }, {me, "timeout"});
    expect_error<InvalidArgument>([&] { window->put(nullptr, 1, peer, 0); }, {me, "null"});
    comm.barrier();
    EXPECT_EQ(std::count(window->data(), window->data() + 1000, std::byte{0}), 1000);
    for (int signal = 0; signal < 3; ++signal) EXPECT_EQ(window->read_signal(signal), 0U);
    expect_error<Timeout>([&] { window->wait_signal(2, 5, milliseconds(30)); },
                          {"0.03 s", me + " waits for signal 2 to be at least 5"});
    comm.barrier();
    window->signal(peer, {2, 5});  // it stays usable
    EXPECT_EQ(window->wait_signal(2, 5), 5U);
    comm.barrier();
  });
}

TEST_P(WindowErrors, WhereOneRankCannotAllSayWhy) {
  const auto errors = fail(3, [](Communicator& comm) {
    expect_error<InvalidArgument>([&] { Window::create(comm, 10, comm.rank() == 1 ? -4 : 4); },
                                  {"rank 1", "signals is -4"});
    comm.barrier();
    Bytes memory(10);
    const bool second = comm.rank() == 1;
    expect_error<InvalidArgument>(
        [&] { Window::create(comm, second ? nullptr : memory.data(), 10, 4); },
        {"rank 1", "the memory is null, and has 10 bytes"});
    comm.barrier();
    EXPECT_EQ(Window::create(comm, 10, 4)->size(), 3);
    comm.barrier();
  });
  rethrow_first(errors);
}

TEST_P(WindowErrors, ARankThatHasLeftIsNotMissed) {
  run(3, [](Communicator& comm) {
    auto window = Window::create(comm, 5000, 4);
    if (comm.rank() == 2) {
      const auto x = values(2, 0, 5000);
      window->put(x.data(), x.size(), 0, 0, SignalUpdate{0});
      window.reset();  // delivers it
      comm.barrier();
      return;
    }
    if (comm.rank() == 0) {
      EXPECT_EQ(window->wait_signal(1), 1U);  // of rank 1, later than the end of rank 2
      EXPECT_EQ(window->wait_signal(0), 1U);
      EXPECT_EQ(0, std::memcmp(window->data(), values(2, 0, 5000).data(), 5000));
      expect_error<PeerLost>(
          [&] {
            await("its farewell", [&] {
              window->signal(2, {0});
              return false;
            });
          },
          {"rank 2 has closed its window"});
    } else {
      std::this_thread::sleep_for(milliseconds(150));
      window->signal(0, {1});
      window.reset();
    }
    if (window)
      expect_error<PeerLost>([&] { window->wait_signal(3); }, {"all other ranks have closed"});
    comm.barrier();
  });
}

TEST_P(WindowErrors, AnAbortEndsTheWait) {
  const auto errors = fail(2, [](Communicator& comm) {
    const auto window = Window::create(comm, 10, 1);
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(milliseconds(50));
      comm.abort("rank 0 has had enough");
      return;
    }
    const auto begin = Clock::now();
    expect_error<Aborted>([&] { window->wait_signal(0); }, {"rank 0 has had enough"});
    EXPECT_LT(Clock::now() - begin, seconds(10));
    expect_error<Aborted>([&] { window->signal(0, {0}); }, {"rank 0 has had enough"});
    expect_error<Aborted>([&] { window->quiet(); }, {"rank 0 has had enough"});
  });
  rethrow_first(errors);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, WindowErrors, ::testing::ValuesIn(fabric_kinds()),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WindowErrors);

}  // namespace
}  // namespace weft::testing
