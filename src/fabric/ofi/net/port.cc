#include "fabric/ofi/net/port.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/ofi/net/connections.h"
#include "fabric/ofi/net/library.h"

namespace weft::ofi {
namespace {

constexpr std::size_t kBatch = 16;
// The bytes in a socket are read within milliseconds.
constexpr std::chrono::seconds kReading(1);
// And libfabric, to forget a connection on which nothing more comes.
constexpr std::chrono::milliseconds kForgetting(100);

}  // namespace

std::shared_ptr<Port> Port::make(const Provider& provider, std::shared_ptr<Receiver> receiver) {
  return std::shared_ptr<Port>(new Port(provider, std::move(receiver)));
}

Port::Port(const Provider& provider, std::shared_ptr<Receiver> receiver)
    : receiver_(std::move(receiver)),
      eager_(provider.eager),
      seals_(provider.in_order),
      delivers_(provider.delivers) {
  for (const auto& each : provider.rails) {
    rails_.push_back(std::make_unique<Rail>(each.info, rails_.size(), MessagePacket::most(eager_)));
    wait_descriptors_.push_back(rails_.back()->wait_descriptor());
  }
  if (std::ranges::count(wait_descriptors_, -1) > 0) wait_descriptors_.clear();
}

Port::~Port() {
  if (!mark_.forked()) return;
  // In a forked child they are the parent's.
  for (auto& rail : rails_) (void)rail.release();
}

void Port::abandon(std::shared_ptr<Port> port) {
  static auto& abandoned = *new std::vector<std::shared_ptr<Port>>;
  static auto& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  abandoned.push_back(std::move(port));
}

std::vector<std::string> Port::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& rail : rails_) names.push_back(rail->name());
  return names;
}

Link& Port::link(const std::vector<std::string>& names) {
  std::lock_guard lock(mutex_);
  std::vector<RailQueue> queues(rails_.size());
  for (std::size_t i = 0; i < queues.size(); ++i)
    queues[i].address = rails_[i]->address_of(names[i]);
  Link& link = links_.emplace_back();
  link.queues = std::move(queues);
  return link;
}

void Port::progress() {
  const Locked lock(*this);
  progress_locked();
}

void Port::poke() {
  // relaxed: it says that somebody is there, and orders nothing.
  pokes_.fetch_add(1, std::memory_order_relaxed);
  const Locked lock(*this, std::try_to_lock);
  if (lock) progress_locked();
}

void Port::progress_locked() {
  for (const auto& rail : rails_) {
    while (read_completions(*rail)) {
    }
  }
  for (auto each = waiting_.begin(); each != waiting_.end();) flush(**each++);
}

// First for reading only: then libfabric reads all that has arrived, meets the end while it reads
// and forgets the connection. If both directions are shut, the peer's next bytes reset the
// connection. libfabric may meet that while it sends, in the middle of a peer's write, which makes
// libfabric 1.17 crash. Only this port reads, so all is read before the lock is released.
bool Port::cut(Link& link, const std::vector<std::string>& names) {
  const Locked lock(*this);
  const auto until = Clock::now() + kReading;
  auto until_quiet = Clock::now() + kForgetting;
  const auto shut_all = [&](int how) {
    Shut all;
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const Rail& rail = *rails_[i];
      const Shut shut = shut_connections(rail.wait_descriptor(), rail.name(), names[i], how);
      all.watched |= shut.watched;
      all.unread |= shut.unread;
    }
    return all;
  };
  for (Shut shut = shut_all(SHUT_RD); shut.watched; shut = shut_all(SHUT_RD)) {
    if (shut.unread) until_quiet = Clock::now() + kForgetting;
    if (Clock::now() > std::min(until, until_quiet)) break;
    progress_locked();
  }
  if (!link.broken) break_link(link, "it was cut off, since it stands still");
  return !shut_all(SHUT_RDWR).unread;
}

// True if there may be more.
bool Port::read_completions(Rail& rail) {
  std::array<fi_cq_data_entry, kBatch> entries;
  const long count = rail.read(entries);
  if (count == -FI_EAVAIL) {
    read_error(rail);
    return true;
  }
  for (long i = 0; i < count; ++i) complete(rail, entries[static_cast<std::size_t>(i)]);
  return count == static_cast<long>(kBatch);
}

void Port::complete(Rail& rail, const fi_cq_data_entry& entry) {
  if (entry.flags & FI_REMOTE_WRITE || (entry.flags & FI_REMOTE_CQ_DATA && entry.flags & FI_RMA)) {
    receiver_->take_write(WriteMark::of(entry.data));
    return;
  }
  Op* const op = static_cast<Op*>(entry.op_context);
  if (op->kind == Op::Kind::kReceive) {
    op->length = entry.len;
    Arrived packet(op, {this});
    receiver_->take_packet(packet);
    Op* const left = packet.release();
    rail.post_receive(left ? left : rail.receives().take(Op::Kind::kReceive));
  } else {
    finish(op);
  }
}

void Port::read_error(Rail& rail) {
  int why = 0;
  Op* const op = rail.read_error(why);
  if (!op) return;
  if (op->kind == Op::Kind::kReceive) {
    if (why != FI_ECANCELED) rail.post_receive(op);
    return;
  }
  Link& link = *op->link;
  finish(op);
  if (!link.broken) break_link(link, library().strerror(why));
}

void Port::give_back(Op* op) {
  if (mark_.forked()) return;
  std::lock_guard lock(mutex_);
  rails_[op->rail]->receives().give_back(op);
}

bool Port::may_wait() {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(rails_, [](const auto& rail) { return rail->may_wait(); });
}

}  // namespace weft::ofi
