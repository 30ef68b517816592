#include "weft/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/cpu.h"
#include "base/host.h"
#include "base/version.h"
#include "comm/planner.h"
#include "comm/point_to_point.h"
#include "comm/rendezvous.h"
#include "engine/lane.h"
#include "select/settings.h"
#include "select/tuning.h"
#include "weft/error.h"

namespace weft {

// What the members have told each other, by rank.
struct Members {
  std::vector<std::string> addresses;  // of their fabrics
  std::vector<std::string> machines;   // on which they are

  // The node of each, by number.
  std::vector<int> place() const {
    std::map<std::string, int> number;
    std::vector<int> place;
    for (const std::string& machine : machines)
      place.push_back(number.emplace(machine, static_cast<int>(number.size())).first->second);
    return place;
  }
};

struct Communicator::Impl {
  Impl(int rank, int size, std::chrono::milliseconds timeout, std::shared_ptr<Fabric> fabric,
       Members members, const Settings& settings, std::function<void()> interrupt)
      : rank(rank),
        size(size),
        timeout(timeout.count()),
        fabric(fabric),
        engine(Engine::of(fabric)),
        members(std::move(members)),
        settings(settings),
        interrupt(std::move(interrupt)),
        planner(rank, size, settings, fabric) {}

  const int rank, size;
  std::atomic<std::chrono::milliseconds::rep> timeout;
  const std::shared_ptr<Fabric> fabric;
  const std::shared_ptr<Engine> engine;
  const Members members;
  const Settings settings;
  const std::function<void()> interrupt;
  const std::shared_ptr<Fate> fate = std::make_shared<Fate>();
  Planner planner;
  std::unique_ptr<Lane> lane;
  std::unique_ptr<PointToPoint> transfers;

  std::chrono::milliseconds limit(std::chrono::milliseconds asked) const {
    // relaxed, here and in set_timeout: a number by itself.
    return asked.count() ? asked
                         : std::chrono::milliseconds(timeout.load(std::memory_order_relaxed));
  }

  void open(const Exchange& exchange, Clock::time_point deadline) {
    auto endpoints = open_endpoints(*fabric, 2, members.addresses, rank, exchange, deadline);
    lane = std::make_unique<Lane>(engine, std::move(endpoints[0]), rank, size, fate, interrupt);
    transfers = std::make_unique<PointToPoint>(engine, std::move(endpoints[1]), rank, size, fate,
                                               interrupt, planner);
  }

  Request transfer(bool sends, void* data, std::size_t count, DType dtype, int peer, int tag,
                   bool wake) {
    const char* verb = sends ? "send to " : "receive from ";
    std::string here = "rank " + std::to_string(rank) + ", " + verb + std::to_string(peer) + ": ";
    bool any = !sends && peer == kAnySource;
    if (!any && (peer < 0 || peer >= size))
      throw InvalidArgument(here + "ranks are 0 to " + std::to_string(size - 1));
    if (peer == rank) throw InvalidArgument(here + "a rank cannot exchange with itself: copy");
    if (!data && count) throw InvalidArgument(here + "the buffer is null");
    return sends ? transfers->send(data, count, dtype, peer, tag, limit({}), wake)
                 : transfers->receive(data, count, dtype, peer, tag, limit({}), wake);
  }
};

namespace {

// What this rank says of choosing. Only rank 0 reads a tuning file: its rows are handed out.
Settings own_settings(int rank, const CommunicatorOptions& options) {
  Settings settings = Settings::from_environment();
  settings.reproducible = settings.reproducible || options.reproducible;
  if (!options.wire.empty()) settings.wire = parse_wire("wire", options.wire);
  const std::string file = rank == 0 ? tuning_file(options.tuning) : "";
  if (!file.empty()) settings.tuned = read_tuning(file);
  return settings;
}

// What ranks say first: the version and the host in words that every version understands, then one
// that only the same version reads.
std::vector<std::string> exchange_hello(const Exchange& exchange, int rank, const Word& mine) {
  const auto all =
      exchange("hello", join({kVersion, host_identity().name, mine.told()}), mine.failed());
  if (mine.failed()) Word::read(mine.told(), rank);
  std::vector<std::string> words;
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    const std::vector<std::string> said = unjoin(all[peer]);
    if (said.size() != 3 || said[0] != kVersion)
      throw Mismatch("rank " + std::to_string(rank) + " (on host " + host_identity().name +
                     ") runs Weft " + kVersion + ", rank " + std::to_string(peer) + " (on host " +
                     (said.size() > 1 ? said[1] : "?") + ") Weft " +
                     (said.empty() ? "?" : said[0]) + ": install the same version everywhere");
    words.push_back(said[2]);
  }
  for (std::size_t peer = 0; peer < all.size(); ++peer)
    words[peer] = Word::read(words[peer], static_cast<int>(peer));
  return words;
}

void check_same_wire(const Settings& first, const Settings& theirs, std::size_t peer) {
  if (theirs.wire == first.wire) return;
  throw InvalidArgument((first.wire ? "rank 0 asks for wire=bfloat16 and rank "
                                    : "rank 0 asks for no wire=bfloat16, but rank ") +
                        std::to_string(peer) + (first.wire ? " does not" : " does") +
                        ": say the same on every rank, by the option or WEFT_WIRE");
}

// `settings` become rank 0's; reproducible is what any rank asks for. If settings or the fabric of
// one rank are wrong, all throw what it throws.
Members introduce(const Exchange& exchange, int rank, const CommunicatorOptions& options,
                  const std::function<std::string()>& make_address, Settings& settings) {
  const Word mine([&] {
    return join({own_settings(rank, options).to_text(), make_address(), cpu_share(),
                 host_identity().key()});
  });
  const std::vector<std::string> all = exchange_hello(exchange, rank, mine);
  Members members;
  std::vector<std::string> shares;
  bool reproducible = false;
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    const std::vector<std::string> words = unjoin(all[peer]);
    Settings theirs = Settings::parse(words.at(0));
    reproducible = reproducible || theirs.reproducible;
    if (peer == 0)
      settings = std::move(theirs);
    else
      check_same_wire(settings, theirs, peer);
    members.addresses.push_back(words.at(1));
    shares.push_back(words.at(2));
    members.machines.push_back(words.at(3));
  }
  settings.reproducible = reproducible;
  settings.crowded = densest(shares).crowded();
  settings.place = members.place();
  return members;
}

std::string fabric_name(const CommunicatorOptions& options) {
  if (!options.fabric_name.empty()) return options.fabric_name;
  const char* const name = std::getenv("WEFT_FABRIC");
  return name ? name : "";
}

// Equal on all ranks: a fabric's peers fall into groups that reach each other.
bool reaches_all(const Fabric& fabric, const std::vector<std::string>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [&](const std::string& address) { return fabric.obstacle(address).empty(); });
}

// The fabric for members on several hosts, whose addresses are exchanged anew. If one rank cannot
// have it, all throw Unsupported.
std::shared_ptr<Fabric> span_hosts(const Exchange& exchange, int rank,
                                   std::vector<std::string>& addresses) {
  std::shared_ptr<Fabric> fabric;
  const Word mine([&] {
    try {
      fabric = process_fabric("shm+ofi");
      return fabric->address();
    } catch (const Error& error) {
      throw Unsupported(std::string("cannot use the network that the ranks, which are on several "
                                    "hosts, need: ") +
                        error.what());
    }
  });
  addresses = exchange_word(exchange, "addresses on the network", rank, mine);
  return fabric;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::shared_ptr<Communicator> Communicator::create(std::shared_ptr<Store> store, int rank, int size,
                                                   CommunicatorOptions options) {
  if (size < 1 || rank < 0 || rank >= size)
    throw InvalidArgument("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                          ": ranks count from 0 to size - 1");
  auto deadline = Clock::now() + options.timeout;
  const std::string name = fabric_name(options);
  std::shared_ptr<Fabric> fabric = options.fabric;
  const auto make_address = [&] {
    if (!fabric) fabric = process_fabric(name.empty() ? "shm" : name);
    return fabric->address();
  };
  Settings settings;
  Exchange exchange = exchange_through(std::move(store), rank, size, deadline);
  Members members = introduce(exchange, rank, options, make_address, settings);
  if (!options.fabric && name.empty() && !reaches_all(*fabric, members.addresses))
    fabric = span_hosts(exchange, rank, members.addresses);
  auto impl = std::make_unique<Impl>(rank, size, options.timeout, fabric, std::move(members),
                                     settings, options.interrupt);
  if (settings.crowded) impl->engine->expect_crowd();
  impl->open(exchange, deadline);
  return std::shared_ptr<Communicator>(new Communicator(std::move(impl)));
}

Communicator::~Communicator() {
  if (impl_->fabric->inherited()) {
    impl_.release();  // its threads run in the parent, its locks may be held for ever
    return;
  }
  impl_->engine->drive_until(
      [this] { return impl_->lane->drained() && impl_->transfers->drained(); },
      Clock::now() + timeout(), {});
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::size() const { return impl_->size; }
std::chrono::milliseconds Communicator::timeout() const { return impl_->limit({}); }
void Communicator::set_timeout(std::chrono::milliseconds timeout) {
  impl_->timeout.store(timeout.count(), std::memory_order_relaxed);
}
const std::shared_ptr<Fabric>& Communicator::fabric() const { return impl_->fabric; }

void Communicator::run(const Call& call) {
  Impl& impl = *impl_;
  impl.lane->run(
      [&](Binding& binding, bool again) {
        again ? impl.planner.rebind(call, binding) : impl.planner.bind(call, binding);
      },
      impl.limit(call.timeout));
}

Request Communicator::submit(const Call& call) {
  Binding binding;
  impl_->planner.bind(call, binding);
  return impl_->lane->submit(binding, impl_->limit(call.timeout));
}

Request Communicator::isend(const void* data, std::size_t count, DType dtype, int destination,
                            int tag) {
  return impl_->transfer(true, const_cast<void*>(data), count, dtype, destination, tag, true);
}

Request Communicator::irecv(void* data, std::size_t count, DType dtype, int source, int tag) {
  return impl_->transfer(false, data, count, dtype, source, tag, true);
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

std::shared_ptr<Communicator> Communicator::split(int color, int key) {
  auto deadline = Clock::now() + timeout();
  // Every member takes part in every exchange; each keeps what concerns its own color.
  Exchange everyone = [this](const std::string&, const std::string& mine, bool) {
    return exchange_words(mine);
  };
  std::vector<std::pair<int, int>> members;  // (key, parent's rank) of this color
  auto words = everyone("color", join({std::to_string(color), std::to_string(key)}), false);
  for (int rank = 0; rank < size(); ++rank) {
    auto theirs = unjoin(words[static_cast<std::size_t>(rank)]);
    if (std::stoi(theirs.at(0)) == color) members.emplace_back(std::stoi(theirs.at(1)), rank);
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
  auto impl = std::make_unique<Impl>(me, size, timeout(), impl_->fabric, std::move(part), settings,
                                     impl_->interrupt);
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

void Communicator::abort(const std::string& why) { impl_->fate->end(why); }

std::string Communicator::algorithm_for(const Call& call) const {
  impl_->planner.check(call);
  return to_text(impl_->planner.choose(call));
}

std::uint64_t Communicator::sequence() const { return impl_->lane->sequence(); }

}  // namespace weft
