#include "weft/window.h"

#include <atomic>
#include <string>
#include <vector>

#include "base/duration_text.h"
#include "comm/rank_text.h"
#include "comm/window_ground.h"
#include "comm/window_mail.h"
#include "kernels/copy.h"
#include "weft/communicator.h"
#include "weft/error.h"

namespace weft {

struct Window::Impl {
  int rank, size;
  std::shared_ptr<Engine> engine;
  std::function<void()> interrupt;
  std::chrono::milliseconds timeout;
  std::unique_ptr<WindowMemory> memory;
  std::optional<std::byte*> given;  // the user's memory, in place of data in `memory`
  std::vector<WindowShape> shapes;  // by rank
  std::vector<WindowPart> parts;    // by rank; empty: it is far
  std::unique_ptr<WindowMail> mail;
  std::atomic<bool> closed{false};

  const WindowPart& mine() const { return parts[static_cast<std::size_t>(rank)]; }
  std::string here(const char* call) const { return rank_text(rank) + ": " + call + ": "; }

  const WindowShape& shape_of(int peer, const char* call) const {
    if (peer < 0 || peer >= size)
      throw InvalidArgument(here(call) + "there is no rank " + std::to_string(peer) +
                            ": ranks are 0 to " + std::to_string(size - 1));
    return shapes[static_cast<std::size_t>(peer)];
  }
  void check_signal(int signal, int owner, const char* call) const {
    const int signals = shape_of(owner, call).signals;
    if (signal >= 0 && signal < signals) return;
    throw InvalidArgument(here(call) + "there is no signal " + std::to_string(signal) + " at " +
                          rank_text(owner) + ", which has " + std::to_string(signals) +
                          ": signals count from 0");
  }
  void check_piece(int target, std::size_t offset, std::size_t bytes) const {
    const std::size_t all = shape_of(target, "put").bytes;
    if (offset <= all && bytes <= all - offset) return;
    throw InvalidArgument(here("put") + std::to_string(bytes) + " bytes at offset " +
                          std::to_string(offset) + " do not lie in the window of " +
                          rank_text(target) + ", which has " + std::to_string(all) + " bytes");
  }

  std::string allocate(std::size_t bytes, int signals);
  void meet(const std::vector<std::string>& words, Endpoint& endpoint);
  void check_open(const char* call) const;
  void put(WindowMail::Put put);
  void store(const WindowPart& part, const WindowMail::Put& put);
  template <typename Done>
  void wait(const char* call, std::chrono::milliseconds asked, const std::string& what, Done done);
};

Window::Window(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::shared_ptr<Window> Window::create(Communicator& comm, std::size_t bytes, int signals) {
  return make(comm, std::make_unique<Impl>(), bytes, signals);
}

std::shared_ptr<Window> Window::create(Communicator& comm, void* memory, std::size_t bytes,
                                       int signals) {
  auto impl = std::make_unique<Impl>();
  impl->given = static_cast<std::byte*>(memory);
  return make(comm, std::move(impl), bytes, signals);
}

std::shared_ptr<Window> Window::make(Communicator& comm, std::unique_ptr<Impl> impl,
                                     std::size_t bytes, int signals) {
  const WindowGround ground = comm.window_ground();
  impl->rank = ground.rank;
  impl->size = ground.size;
  impl->engine = ground.engine;
  impl->interrupt = ground.interrupt;
  impl->timeout = ground.timeout;
  const Word mine([&] { return impl->allocate(bytes, signals); });
  const auto words = exchange_word(ground.exchange, "window", ground.rank, mine);
  auto endpoints = open_endpoints(*ground.engine->fabric(), 1, ground.addresses, ground.rank,
                                  ground.exchange, Clock::now() + ground.timeout);
  // Nobody leaves before all have reached its memory.
  const Word met([&] { return impl->meet(words, *endpoints[0]), std::string(); });
  (void)exchange_word(ground.exchange, "window's memory", ground.rank, met);
  std::vector<bool> far;
  for (const WindowPart& part : impl->parts) far.push_back(!part);
  impl->mail = std::make_unique<WindowMail>(ground.engine, ground.priority, std::move(endpoints[0]),
                                            ground.rank, std::move(far), impl->mine(), ground.fate);
  return std::shared_ptr<Window>(new Window(std::move(impl)));
}

std::string Window::Impl::allocate(std::size_t bytes, int signals) {
  if (signals < 0)
    throw InvalidArgument(here("Window") + "signals is " + std::to_string(signals) +
                          ": give a number from 0");
  if (given && !*given && bytes)
    throw InvalidArgument(here("Window") + "the memory is null, and has " + std::to_string(bytes) +
                          " bytes: give its address");
  const WindowShape shape{bytes, signals, size};
  memory =
      std::make_unique<WindowMemory>(engine->fabric(), given ? shape.data_offset() : shape.total());
  return join_words(
      {std::to_string(memory->where().bits), std::to_string(bytes), std::to_string(signals)});
}

// `words`: what allocate() said, by rank.
void Window::Impl::meet(const std::vector<std::string>& words, Endpoint& endpoint) {
  for (int peer = 0; peer < size; ++peer) {
    const auto said = split_words(words[static_cast<std::size_t>(peer)], 3);
    const WindowShape shape{std::stoull(said[1]), std::stoi(said[2]), size};
    shapes.push_back(shape);
    std::byte* begin = nullptr;
    if (peer == rank)
      begin = memory->data();
    else if (!given)
      begin = endpoint.reach(peer, {std::stoull(said[0])}, shape.total());
    parts.push_back(begin ? WindowPart(begin, given.value_or(begin + shape.data_offset()), shape)
                          : WindowPart());
  }
}

Window::~Window() {
  close();
  if (impl_->engine->fabric()->inherited()) impl_.release();  // its threads run in the parent
}

void Window::close() {
  Impl& impl = *impl_;
  if (impl.engine->fabric()->inherited() || impl.closed.exchange(true)) return;
  for (int peer = 0; peer < impl.size; ++peer) {
    const WindowPart& part = impl.parts[static_cast<std::size_t>(peer)];
    if (peer == impl.rank || impl.mail->failed()) continue;
    if (part) {
      part.leave(impl.rank);
      impl.mail->nudge(peer);
    } else if (!impl.mine().left(peer)) {
      impl.mail->submit({.target = peer, .leaves = true});
    }
  }
  impl.engine->drive_until([&] { return impl.mail->drained(); }, Clock::now() + impl.timeout, {});
}

int Window::rank() const { return impl_->rank; }
int Window::size() const { return impl_->size; }
std::byte* Window::data() const { return impl_->mine().data(); }
std::size_t Window::bytes(int rank) const { return impl_->shape_of(rank, "bytes").bytes; }
int Window::signals(int rank) const { return impl_->shape_of(rank, "signals").signals; }
std::byte* Window::peer_data(int rank) const {
  (void)impl_->shape_of(rank, "peer_data");
  const WindowPart& part = impl_->parts[static_cast<std::size_t>(rank)];
  return part ? part.data() : nullptr;
}

void Window::Impl::check_open(const char* call) const {
  if (!closed) return;
  throw InvalidArgument(here(call) + "the window is closed: make a new one");
}

void Window::Impl::put(WindowMail::Put put) {
  check_open("put");
  mail->check();
  if (put.target != rank && mine().left(put.target))
    throw PeerLost(here("put") + rank_text(put.target) + " has closed its window");
  const WindowPart& part = parts[static_cast<std::size_t>(put.target)];
  if (!part) return mail->submit(std::move(put));
  store(part, put);
  if (put.when_free) put.when_free();
}

void Window::Impl::store(const WindowPart& part, const WindowMail::Put& put) {
  if (put.bytes) kernels::copy(part.data() + put.offset, put.data, put.bytes, kernels::To::kPeer);
  if (put.update) part.apply(*put.update);
  if (put.target == rank)
    engine->fabric()->ring();  // another thread of this rank may wait
  else if (put.update)
    mail->nudge(put.target);
}

void Window::put(const void* data, std::size_t bytes, int target, std::size_t offset,
                 std::optional<SignalUpdate> update, std::function<void()> when_free) {
  impl_->check_piece(target, offset, bytes);
  if (!data && bytes) throw InvalidArgument(impl_->here("put") + "the data is null");
  if (update) impl_->check_signal(update->signal, target, "put");
  impl_->put({.target = target,
              .data = static_cast<const std::byte*>(data),
              .bytes = bytes,
              .offset = offset,
              .update = update,
              .when_free = std::move(when_free)});
}

void Window::signal(int target, SignalUpdate update) {
  impl_->check_signal(update.signal, target, "signal");
  impl_->put({.target = target, .update = update});
}

template <typename Done>
void Window::Impl::wait(const char* call, std::chrono::milliseconds asked, const std::string& what,
                        Done done) {
  if (asked.count() < 0)
    throw InvalidArgument(here(call) + "timeout is " + std::to_string(asked.count()) +
                          " ms: give one above zero");
  const auto limit = asked.count() ? asked : timeout;
  check_open(call);
  // What is there counts also if the window has ended meanwhile.
  if (done()) return;
  const auto ended = [&] { return done() || mail->failed() || mail->alone(); };
  const bool in_time = engine->drive_until(ended, Clock::now() + limit, interrupt);
  if (done()) return;
  mail->check();
  if (!in_time)
    throw weft::Timeout("the timeout of " + duration_text(limit) + " is over: " + rank_text(rank) +
                        " waits for " + what);
  throw PeerLost(rank_text(rank) + " waits for " + what +
                 ", and all other ranks have closed their windows");
}

std::uint64_t Window::wait_signal(int signal, std::uint64_t at_least, Timeout timeout) {
  impl_->check_signal(signal, rank(), "wait_signal");
  std::uint64_t value = 0;
  impl_->wait("wait_signal", timeout,
              "signal " + std::to_string(signal) + " to be at least " + std::to_string(at_least),
              [&] { return (value = read_signal(signal)) >= at_least; });
  return value;
}

int Window::wait_some(int first, int count, Timeout timeout) {
  impl_->check_signal(first, rank(), "wait_some");
  if (count < 1)
    throw InvalidArgument(impl_->here("wait_some") + "count is " + std::to_string(count) +
                          ": give a number from 1");
  impl_->check_signal(first + count - 1, rank(), "wait_some");
  int found = -1;
  const auto look = [&] {
    if (found < 0) found = impl_->mine().first_set(first, count);
    return found >= 0;
  };
  impl_->wait(
      "wait_some", timeout,
      "one of the signals " + std::to_string(first) + " to " + std::to_string(first + count - 1),
      look);
  return found;
}

// acquire: pairs with WindowPart::apply().
std::uint64_t Window::read_signal(int signal) const {
  impl_->check_signal(signal, rank(), "read_signal");
  return impl_->mine().signal(signal).load(std::memory_order_acquire);
}

std::uint64_t Window::fetch_reset(int signal) {
  impl_->check_signal(signal, rank(), "fetch_reset");
  return impl_->mine().signal(signal).exchange(0, std::memory_order_acquire);
}

void Window::check() { impl_->mail->check(); }

void Window::quiet(Timeout timeout) {
  impl_->wait("quiet", timeout, "the sources of its puts",
              [&] { return impl_->mail->outstanding() == 0; });
  impl_->mail->check();
}

}  // namespace weft
