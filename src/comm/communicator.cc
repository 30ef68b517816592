#include "weft/communicator.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "comm/bound_calls.h"
#include "comm/introduce.h"
#include "comm/planner.h"
#include "comm/point_to_point.h"
#include "comm/rendezvous.h"
#include "comm/window_ground.h"
#include "engine/lane.h"
#include "select/settings.h"
#include "weft/error.h"

namespace weft {

namespace {

[[gnu::hot]] void check_timeout(int rank, std::chrono::milliseconds timeout) {
  if (timeout.count() < 0)
    throw InvalidArgument("rank " + std::to_string(rank) + ": timeout is " +
                          std::to_string(timeout.count()) + " ms: give one above zero");
}

// What a rank asks of split().
struct Asked {
  int color, key, priority;
};

std::string to_text(const Asked& asked) {
  return join_words(
      {std::to_string(asked.color), std::to_string(asked.key), std::to_string(asked.priority)});
}

std::vector<Asked> parse_asked(const std::vector<std::string>& all) {
  std::vector<Asked> asked;
  for (const std::string& text : all) {
    const std::vector<std::string> words = split_words(text, 3);
    asked.push_back({std::stoi(words[0]), std::stoi(words[1]), std::stoi(words[2])});
  }
  return asked;
}

// All ranks look at all colors, so that all throw the same.
void check_same_priority(const std::vector<Asked>& asked) {
  std::map<int, std::size_t> first;  // rank of each color
  for (std::size_t rank = 0; rank < asked.size(); ++rank) {
    if (asked[rank].color < 0) continue;
    const std::size_t other = first.emplace(asked[rank].color, rank).first->second;
    if (asked[rank].priority == asked[other].priority) continue;
    throw InvalidArgument("split: rank " + std::to_string(other) + " gives color " +
                          std::to_string(asked[rank].color) + " the priority " +
                          std::to_string(asked[other].priority) + ", rank " + std::to_string(rank) +
                          " " + std::to_string(asked[rank].priority) +
                          ": give the same on every rank of a color");
  }
}

Settings with_priority(Settings settings, int priority) {
  settings.has_priority = priority != 0;
  return settings;
}

}  // namespace

struct Communicator::Impl {
  Impl(int rank, int size, std::chrono::milliseconds timeout, int priority,
       std::shared_ptr<Fabric> fabric, Members members, const Settings& settings,
       std::function<void()> interrupt)
      : rank(rank),
        size(size),
        priority(priority),
        timeout(timeout.count()),
        fabric(fabric),
        engine(Engine::of(fabric)),
        members(std::move(members)),
        settings(with_priority(settings, priority)),
        interrupt(std::move(interrupt)),
        planner(rank, size, this->settings, fabric) {}

  const int rank, size, priority;
  std::atomic<std::chrono::milliseconds::rep> timeout;
  const std::shared_ptr<Fabric> fabric;
  const std::shared_ptr<Engine> engine;
  const Members members;
  const Settings settings;
  const std::function<void()> interrupt;
  const std::shared_ptr<Fate> fate = std::make_shared<Fate>();
  Planner planner;
  BoundCalls bound{planner};  // the lane's owner only
  std::mutex submitting;
  BoundCalls submitted{planner};  // under submitting
  std::unique_ptr<Lane> lane;
  std::unique_ptr<PointToPoint> transfers;

  std::chrono::milliseconds limit(std::chrono::milliseconds asked) const {
    // relaxed, here and in set_timeout: a number by itself.
    check_timeout(rank, asked);
    return asked.count() ? asked
                         : std::chrono::milliseconds(timeout.load(std::memory_order_relaxed));
  }

  void open(const Exchange& exchange, Clock::time_point deadline) {
    auto endpoints = open_endpoints(*fabric, 2, members.addresses, rank, exchange, deadline);
    planner.run_on(*endpoints[0]);
    lane = std::make_unique<Lane>(engine, std::move(endpoints[0]), rank, size, fate, interrupt,
                                  priority);
    transfers = std::make_unique<PointToPoint>(engine, std::move(endpoints[1]), rank, size, fate,
                                               interrupt, planner, priority);
  }

  // Users' tags go as they are, reserved ones below 0.
  static int reserved(int tag) { return -1 - tag; }

  Request transfer(bool sends, void* data, std::size_t count, DType dtype, int peer, int tag,
                   bool wake) {
    if (tag < 0)
      throw InvalidArgument("rank " + std::to_string(rank) + (sends ? ", send" : ", receive") +
                            ": tag is " + std::to_string(tag) + ", tags count from 0");
    return transfer_any(sends, data, count, dtype, peer, tag, wake);
  }

  Request transfer_any(bool sends, void* data, std::size_t count, DType dtype, int peer, int tag,
                       bool wake) {
    const char* verb = sends ? "send to " : "receive from ";
    std::string here = "rank " + std::to_string(rank) + ", " + verb + std::to_string(peer) + ": ";
    bool any = !sends && peer == kAnySource;
    if (!any && (peer < 0 || peer >= size))
      throw InvalidArgument(here + "ranks are 0 to " + std::to_string(size - 1));
    if (peer == rank) throw InvalidArgument(here + "a rank cannot exchange with itself: copy");
    if (!data && count) throw InvalidArgument(here + "the buffer is null");
    if (count > PTRDIFF_MAX / size_of(dtype))
      throw InvalidArgument(here + "count is " + std::to_string(count) +
                            ", more than any memory holds: was it negative?");
    return sends ? transfers->send(data, count, dtype, peer, tag, limit({}), wake)
                 : transfers->receive(data, count, dtype, peer, tag, limit({}), wake);
  }
};

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::shared_ptr<Communicator> Communicator::create(std::shared_ptr<Store> store, int rank, int size,
                                                   CommunicatorOptions options) {
  if (size < 1 || rank < 0 || rank >= size)
    throw InvalidArgument("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                          ": ranks count from 0 to size - 1");
  check_timeout(rank, options.timeout);
  auto deadline = Clock::now() + options.timeout;
  const Exchange exchange = exchange_through(store, rank, size, deadline);
  Introduction met = introduce(exchange, rank, options);
  auto impl =
      std::make_unique<Impl>(rank, size, options.timeout, options.priority, std::move(met.fabric),
                             std::move(met.members), met.settings, options.interrupt);
  if (met.settings.crowded) impl->engine->expect_crowd();
  try {
    check_same_worker(options.workers, impl->engine->employ(met.worker.worker));
    impl->open(exchange, deadline);
  } catch (const Error&) {
    end_together(*store, rank, size);
  }
  return std::shared_ptr<Communicator>(new Communicator(std::move(impl)));
}

Communicator::~Communicator() {
  if (impl_->fabric->inherited()) {
    impl_.release();  // its threads run in the parent, its locks may be held for ever
    return;
  }
  Impl& impl = *impl_;
  const auto drained = [&] { return impl.lane->drained() && impl.transfers->drained(); };
  const auto pending = [&] { return impl.lane->pending() || impl.transfers->pending(); };
  impl.engine->drive_until(drained, Clock::now() + timeout(), {});
  if (!pending()) return;
  impl.fate->end("rank " + std::to_string(rank()) +
                 " left its communicator with operations under way");
  impl.engine->drive_until([&] { return !pending(); }, Clock::time_point::max(), {});
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::size() const { return impl_->size; }
std::chrono::milliseconds Communicator::timeout() const { return impl_->limit({}); }
void Communicator::set_timeout(std::chrono::milliseconds timeout) {
  check_timeout(impl_->rank, timeout);
  impl_->timeout.store(timeout.count(), std::memory_order_relaxed);
}
int Communicator::priority() const { return impl_->priority; }
const std::shared_ptr<Fabric>& Communicator::fabric() const { return impl_->fabric; }
const std::vector<int>& Communicator::place() const { return impl_->settings.place; }
bool Communicator::crowded() const { return impl_->settings.crowded; }

[[gnu::hot]] void Communicator::run(const Call& call) {
  Impl& impl = *impl_;
  impl.lane->run([&]() -> Binding& { return impl.bound.bind(call); },
                 [&](Binding& binding) { impl.planner.bind(call, binding); },
                 impl.limit(call.timeout));
}

Request Communicator::submit(const Call& call) {
  Impl& impl = *impl_;
  const std::chrono::milliseconds limit = impl.limit(call.timeout);
  const std::lock_guard lock(impl.submitting);
  return impl.lane->submit(impl.submitted.bind(call), limit);
}

Request Communicator::isend(const void* data, std::size_t count, DType dtype, int destination,
                            int tag) {
  return impl_->transfer(true, const_cast<void*>(data), count, dtype, destination, tag, true);
}

Request Communicator::irecv(void* data, std::size_t count, DType dtype, int source, int tag) {
  return impl_->transfer(false, data, count, dtype, source, tag, true);
}

Request Communicator::isend_reserved(const void* data, std::size_t count, DType dtype,
                                     int destination, int tag) {
  return impl_->transfer_any(true, const_cast<void*>(data), count, dtype, destination,
                             Impl::reserved(tag), true);
}

Request Communicator::irecv_reserved(void* data, std::size_t count, DType dtype, int source,
                                     int tag) {
  return impl_->transfer_any(false, data, count, dtype, source, Impl::reserved(tag), true);
}

void Communicator::send(const void* data, std::size_t count, DType dtype, int destination,
                        int tag) {
  impl_->transfer(true, const_cast<void*>(data), count, dtype, destination, tag, false).wait();
}

int Communicator::recv(void* data, std::size_t count, DType dtype, int source, int tag) {
  Request request = impl_->transfer(false, data, count, dtype, source, tag, false);
  request.wait();
  return request.source();
}

std::shared_ptr<Communicator> Communicator::split(int color, int key, std::optional<int> priority) {
  auto deadline = Clock::now() + timeout();
  // Every member takes part in every exchange; each keeps what concerns its own color.
  Exchange everyone = [this](const std::string&, const std::string& mine, bool) {
    return exchange_words(mine);
  };
  const Asked mine{color, key, priority.value_or(impl_->priority)};
  const std::vector<Asked> asked = parse_asked(everyone("color", to_text(mine), false));
  check_same_priority(asked);
  std::vector<std::pair<int, int>> members;  // (key, parent's rank) of this color
  for (int rank = 0; rank < size(); ++rank) {
    const Asked& theirs = asked[static_cast<std::size_t>(rank)];
    if (theirs.color == color) members.emplace_back(theirs.key, rank);
  }
  std::sort(members.begin(), members.end());
  if (color < 0) {
    everyone("lanes", {}, true);
    return nullptr;
  }
  Members part;
  int me = 0;
  for (std::size_t place = 0; place < members.size(); ++place) {
    if (members[place].second == rank()) me = static_cast<int>(place);
    const auto old = static_cast<std::size_t>(members[place].second);
    part.addresses.push_back(impl_->members.addresses[old]);
    part.machines.push_back(impl_->members.machines[old]);
  }
  Exchange among = [&](const std::string& what, const std::string& mine, bool leaves) {
    auto all = everyone(what, mine, leaves);
    std::vector<std::string> ours;
    for (const auto& member : members) ours.push_back(all[static_cast<std::size_t>(member.second)]);
    return ours;
  };
  int size = static_cast<int>(members.size());
  Settings settings = impl_->settings;
  settings.place = part.place();
  auto impl = std::make_unique<Impl>(me, size, timeout(), mine.priority, impl_->fabric,
                                     std::move(part), settings, impl_->interrupt);
  impl->open(among, deadline);
  return std::shared_ptr<Communicator>(new Communicator(std::move(impl)));
}

std::vector<std::string> Communicator::exchange_words(const std::string& mine) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(size()));
  std::size_t own = mine.size();
  static_assert(sizeof(std::size_t) == 8);
  allgather(&own, sizes.data(), 1, DType::kU64);
  std::size_t total = 0;
  for (std::size_t bytes : sizes) total += bytes;
  std::string all(total, '\0');
  Call call{Collective::kAllgather, mine.data(), all.data(), own, DType::kU8};
  call.output_counts = sizes;
  run(call);
  std::vector<std::string> words;
  std::size_t at = 0;
  for (std::size_t bytes : sizes) {
    words.push_back(all.substr(at, bytes));
    at += bytes;
  }
  return words;
}

WindowGround Communicator::window_ground() {
  Impl& impl = *impl_;
  const Exchange everyone = [this](const std::string&, const std::string& mine, bool) {
    return exchange_words(mine);
  };
  return {impl.rank,      impl.size,      impl.priority, impl.engine,           impl.fate,
          impl.interrupt, impl.limit({}), everyone,      impl.members.addresses};
}

void Communicator::abort(const std::string& why) { impl_->fate->end(why); }

void Communicator::settle(std::chrono::steady_clock::time_point deadline) {
  const auto quiet = [this] {
    return impl_->engine->quiet({impl_->lane.get(), impl_->transfers.get()});
  };
  if (impl_->fabric->inherited() || impl_->engine->drive_until(quiet, deadline, {})) return;
  abort("rank " + std::to_string(rank()) +
        " ended its program with operations under way that it did not wait for");
  impl_->engine->drive_until(quiet, Clock::now() + std::chrono::seconds(5), {});
}

void Communicator::check_leftovers() { impl_->lane->check_leftovers(); }

std::string Communicator::algorithm_for(const Call& call) const {
  impl_->planner.check(call);
  return to_text(impl_->planner.choose(call).use->choice());
}

std::uint64_t Communicator::sequence() const { return impl_->lane->sequence(); }

}  // namespace weft
