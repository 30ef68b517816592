// Windows over every fabric: what is put arrives before its signal.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "conformance/windows.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

using std::chrono::milliseconds;

class WindowTest : public OnWindows {
 protected:
  // Over memory of the user, where `memory` is given.
  static std::shared_ptr<Window> make(Communicator& comm, Bytes* memory, std::size_t bytes,
                                      int signals) {
    if (!memory) return Window::create(comm, bytes, signals);
    memory->resize(bytes);
    return Window::create(comm, memory->data(), bytes, signals);
  }
};

template <typename Body>
void for_peers(const Communicator& comm, Body body) {
  for (int peer = 0; peer < comm.size(); ++peer)
    if (peer != comm.rank()) body(peer);
}

// In the message, one piece, many pieces with a tail; to all ranks, the own one too. Negative: over
// memory of the user.
TEST_P(WindowTest, TheBytesAreThereBeforeTheSignal) {
  for (int ranks : {1, 2, 3, 5, -2, -3}) {
    run(std::abs(ranks), [ranks](Communicator& comm) {
      constexpr std::size_t kMost = 1'500'001;
      const auto size = static_cast<std::size_t>(comm.size());
      Bytes memory;
      const auto window = make(comm, ranks < 0 ? &memory : nullptr, size * kMost, comm.size());
      std::uint64_t round = 0;
      for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{448}, std::size_t{449},
                                std::size_t{70'001}, kMost}) {
        ++round;
        std::vector<Bytes> sources;
        for (int peer = 0; peer < comm.size(); ++peer) {
          sources.push_back(values(comm.rank(), peer, bytes));
          window->put(sources.back().data(), bytes, peer,
                      static_cast<std::size_t>(comm.rank()) * kMost,
                      SignalUpdate{comm.rank(), round});
        }
        for (int peer = 0; peer < comm.size(); ++peer) {
          ASSERT_EQ(window->wait_signal(peer, round), round);
          const std::byte* const at = window->data() + static_cast<std::size_t>(peer) * kMost;
          const Bytes expected = values(peer, comm.rank(), bytes);
          ASSERT_TRUE(bytes == 0 || std::memcmp(at, expected.data(), bytes) == 0)
              << bytes << " bytes from rank " << peer;
        }
        window->quiet();
        comm.barrier();
      }
    });
  }
}

// Origins write at random places of stripes of their own, and signal at random; each target then
// compares with what the same random numbers would have left.
class RandomOperations {
 public:
  static constexpr std::size_t kStripe = 5000;
  static constexpr int kSignals = 3;  // of each origin
  struct Model {
    Bytes data = Bytes(kStripe);
    std::array<std::uint64_t, kSignals> signals{};
    std::uint64_t done = 0;
  };

  RandomOperations(int from, int to) : random_(static_cast<unsigned>(from * 100 + to)) {}

  // The next operation: done to the model, and by `put` to the window.
  template <typename Put>
  void next(Model& model, Put put) {
    const std::size_t longest = at_most(9) == 0 ? kStripe : 64;
    const std::size_t bytes = at_most(longest), offset = at_most(kStripe - bytes);
    Bytes data(bytes);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(random_());
    SignalUpdate update{static_cast<int>(at_most(kSignals - 1)), random_(),
                        at_most(1) ? SignalOp::kAdd : SignalOp::kSet};
    std::copy(data.begin(), data.end(), model.data.begin() + static_cast<std::ptrdiff_t>(offset));
    std::uint64_t& signal = model.signals[static_cast<std::size_t>(update.signal)];
    signal = update.op == SignalOp::kAdd ? signal + update.value : update.value;
    ++model.done;
    put(std::move(data), offset, update);
  }

 private:
  std::size_t at_most(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random_);
  }
  std::mt19937_64 random_;
};

TEST_P(WindowTest, RandomOperationsDoWhatAModelDoes) {
  constexpr int kOperations = 25'000, kRound = 50;
  for (int ranks : {2, 3, 4, 5, -3}) {
    run(std::abs(ranks), [&, ranks](Communicator& comm) {
      using Random = RandomOperations;
      constexpr int kPer = Random::kSignals + 1;  // the last counts the operations
      const int me = comm.rank(), size = comm.size();
      Bytes memory;
      const auto window = make(comm, ranks < 0 ? &memory : nullptr,
                               static_cast<std::size_t>(size) * Random::kStripe, size * kPer);
      std::vector<Random> mine, theirs;
      std::vector<Random::Model> sent(static_cast<std::size_t>(size)), expected = sent;
      for (int peer = 0; peer < size; ++peer) {
        mine.emplace_back(me, peer);
        theirs.emplace_back(peer, me);
      }
      std::mt19937 order(static_cast<unsigned>(me));
      for (int done = 0; done < kOperations / (size * size); done += kRound) {
        std::deque<Bytes> sources;
        for (int i = 0; i < kRound * size; ++i) {
          const auto peer = static_cast<std::size_t>(i % size);
          mine[peer].next(sent[peer], [&](Bytes data, std::size_t offset, SignalUpdate update) {
            update.signal += me * kPer;
            sources.push_back(std::move(data));
            window->put(sources.back().data(), sources.back().size(), static_cast<int>(peer),
                        static_cast<std::size_t>(me) * Random::kStripe + offset, update);
            window->signal(static_cast<int>(peer),
                           {me * kPer + Random::kSignals, 1, SignalOp::kAdd});
            if (order() % 64 == 0) window->quiet();
          });
        }
        for (int peer = 0; peer < size; ++peer) {
          auto& model = expected[static_cast<std::size_t>(peer)];
          for (int i = 0; i < kRound; ++i)
            theirs[static_cast<std::size_t>(peer)].next(model, [](auto&&...) {});
          const int first = peer * kPer;
          ASSERT_EQ(window->wait_signal(first + Random::kSignals, model.done), model.done);
          ASSERT_EQ(0,
                    std::memcmp(window->data() + static_cast<std::size_t>(peer) * Random::kStripe,
                                model.data.data(), Random::kStripe))
              << "after " << model.done << " operations of rank " << peer;
          for (int signal = 0; signal < Random::kSignals; ++signal)
            ASSERT_EQ(window->read_signal(first + signal),
                      model.signals[static_cast<std::size_t>(signal)]);
        }
        window->quiet();
        comm.barrier();
      }
    });
  }
}

TEST_P(WindowTest, OfManySignalsTheLowestInRangeIsFound) {
  run(2, [](Communicator& comm) {
    constexpr int kSignals = 21;
    const auto window = Window::create(comm, 0, kSignals);
    for (int set = 0; set < kSignals; ++set) {
      window->signal(comm.rank(), {set, 1});
      window->signal(comm.rank(), {kSignals - 1, 1});
      for (int first = 0; first < kSignals; ++first)
        EXPECT_EQ(window->wait_some(first, kSignals - first), first <= set ? set : kSignals - 1)
            << "from " << first;
      if (set > 0) {
        EXPECT_THROW(window->wait_some(0, set, milliseconds(1)), Timeout) << set;
      }
      window->fetch_reset(set);
      window->fetch_reset(kSignals - 1);
    }
    comm.barrier();
  });
}

TEST_P(WindowTest, SignalsAreSetAddedAwaitedAndReset) {
  run(3, [](Communicator& comm) {
    const auto window = Window::create(comm, 0, 8);
    if (comm.rank() == 0) {
      EXPECT_THROW(window->wait_some(0, 4, milliseconds(20)), Timeout);
      comm.barrier();
      std::uint64_t sum = 0;
      for (int heard = 0; heard < 2; ++heard) {
        const int which = window->wait_some(1, 2);
        sum += window->fetch_reset(which);
        EXPECT_EQ(window->read_signal(which), 0U);
      }
      EXPECT_EQ(sum, (std::uint64_t{1} << 40) + 1 + (std::uint64_t{2} << 40) + 2);
      EXPECT_EQ(window->wait_signal(5, 20), 20U);
      EXPECT_EQ(window->wait_signal(6, ~std::uint64_t{0}), ~std::uint64_t{0});
    } else {
      comm.barrier();
      const auto me = static_cast<std::uint64_t>(comm.rank());
      window->signal(0, {comm.rank(), (me << 40) + me});
      for (int i = 0; i < 10; ++i) window->signal(0, {5, 1, SignalOp::kAdd});
      window->signal(0, {6, ~std::uint64_t{0}});
    }
    comm.barrier();
  });
}

TEST_P(WindowTest, SizesMayDifferAndSourcesComeFree) {
  run(3, [](Communicator& comm) {
    const auto mine = static_cast<std::size_t>(comm.rank()) * 100'000;
    const auto window = Window::create(comm, mine, comm.rank());
    for (int peer = 0; peer < 3; ++peer) {
      EXPECT_EQ(window->bytes(peer), static_cast<std::size_t>(peer) * 100'000);
      EXPECT_EQ(window->signals(peer), peer);
    }
    std::atomic<int> freed{0};
    if (comm.rank() == 0) {
      Bytes x = values(0, 2, 200'000);
      window->put(x.data(), x.size(), 2, 0, {}, [&] { ++freed; });
      window->quiet();
      std::ranges::fill(x, std::uint8_t{9});  // it may be written again
      window->signal(2, {1});
      await("the callback", [&] { return freed == 1; });
    }
    if (comm.rank() == 2) {
      window->wait_signal(1);
      EXPECT_EQ(0, std::memcmp(window->data(), values(0, 2, mine).data(), mine));
    }
    comm.barrier();
    EXPECT_EQ(freed, comm.rank() == 0 ? 1 : 0);
  });
}

TEST_P(WindowTest, PutsLandInMemoryOfTheUserWhileItsOwnerWorksBesideThem) {
  run(3, [](Communicator& comm) {
    Bytes memory(3 * 1000 + static_cast<std::size_t>(comm.rank()), 7);
    const auto window = Window::create(comm, memory.data(), memory.size(), 3);
    EXPECT_EQ(static_cast<const void*>(window->data()), memory.data());
    EXPECT_EQ(window->bytes(2), 3002U);
    EXPECT_EQ(window->peer_data((comm.rank() + 1) % 3), nullptr);
    const auto own = static_cast<std::size_t>(comm.rank()) * 1000;
    for (std::size_t i = 0; i < 1000; ++i) memory[own + i] = 9;
    for_peers(comm, [&](int peer) {
      const auto x = values(comm.rank(), peer, 1000);
      window->put(x.data(), x.size(), peer, own, SignalUpdate{comm.rank()});
      window->quiet();
    });
    for_peers(comm, [&](int peer) {
      window->wait_signal(peer);
      EXPECT_EQ(0, std::memcmp(memory.data() + static_cast<std::ptrdiff_t>(peer) * 1000,
                               values(peer, comm.rank(), 1000).data(), 1000));
    });
    EXPECT_TRUE(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(own),
                            memory.begin() + static_cast<std::ptrdiff_t>(own) + 1000,
                            [](auto byte) { return byte == 9; }));
    EXPECT_TRUE(std::all_of(memory.begin() + 3000, memory.end(), [](auto b) { return b == 7; }));
    comm.barrier();
  });
}

TEST_P(WindowTest, AMemberOfTheNodeMayBeReadDirectly) {
  run(2, [](Communicator& comm) {
    const auto window = Window::create(comm, 5000, 2);
    const int peer = 1 - comm.rank();
    const auto x = values(comm.rank(), comm.rank(), 5000);
    window->put(x.data(), x.size(), comm.rank(), 0);
    comm.barrier();
    if (const std::byte* const theirs = window->peer_data(peer)) {
      const auto expected = values(peer, peer, 5000);
      EXPECT_EQ(0, std::memcmp(theirs, expected.data(), 5000));
    }
    EXPECT_EQ(window->peer_data(comm.rank()), window->data());
    comm.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Fabrics, WindowTest, ::testing::ValuesIn(fabric_kinds()),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WindowTest);

}  // namespace
}  // namespace weft::testing
