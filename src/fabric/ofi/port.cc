#include "fabric/ofi/port.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "fabric/ofi/library.h"

namespace weft::ofi {
namespace {

constexpr std::size_t kBatch = 16;

// The rail that has the least under way to the peer; of those alike, that which has carried least.
std::size_t least_loaded(const Link& link) {
  const auto less = [](const Way& a, const Way& b) {
    return std::tie(a.under_way, a.given) < std::tie(b.under_way, b.given);
  };
  const auto least = std::min_element(link.ways.begin(), link.ways.end(), less);
  return static_cast<std::size_t>(least - link.ways.begin());
}

}  // namespace

// Holds the port's lock.
class Port::Locked {
 public:
  explicit Locked(Port& port) : port_(port), lock_(port.mutex_) {}
  Locked(Port& port, std::try_to_lock_t how) : port_(port), lock_(port.mutex_, how) {}
  ~Locked() {
    if (!lock_) return;
    const auto done_with = std::exchange(port_.done_with_, {});
    lock_.unlock();
  }
  explicit operator bool() const { return static_cast<bool>(lock_); }

 private:
  Port& port_;
  std::unique_lock<std::mutex> lock_;
};

std::shared_ptr<Port> Port::make(const Provider& provider, std::shared_ptr<Receiver> receiver) {
  return std::shared_ptr<Port>(new Port(provider, std::move(receiver)));
}

Port::Port(const Provider& provider, std::shared_ptr<Receiver> receiver)
    : receiver_(std::move(receiver)), eager_(provider.eager) {
  for (const auto& each : provider.rails) {
    rails_.push_back(
        std::make_unique<Rail>(each.info, rails_.size(), MessagePacket::kHead + eager_));
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
  std::vector<Way> ways(rails_.size());
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i].address = rails_[i]->address_of(names[i]);
  Link& link = links_.emplace_back();
  link.ways = std::move(ways);
  return link;
}

void Port::send(Link& link, const void* packet, std::size_t length, const Account& account) {
  const Locked lock(*this);
  if (!link.broken) send_small(link, least_loaded(link), packet, length, account);
}

void Port::greet(Link& link, const void* packet, std::size_t length, const Account& account) {
  const Locked lock(*this);
  for (std::size_t rail = 0; rail < rails_.size() && !link.broken; ++rail) {
    send_small(link, rail, packet, length, account);
  }
}

void Port::send_small(Link& link, std::size_t rail, const void* packet, std::size_t length,
                      const Account& account) {
  ++link.sent;
  Way& way = link.ways[rail];
  if (way.pending.empty() && rails_[rail]->inject(way.address, packet, length)) return;
  submit_packet(link, rail, packet, length, {}, account);
}

void Port::send(Link& link, const void* packet, std::size_t length, Payload payload,
                const Account& account) {
  const Locked lock(*this);
  if (link.broken) return;
  ++link.sent;
  submit_packet(link, least_loaded(link), packet, length, std::move(payload), account);
}

void Port::submit_packet(Link& link, std::size_t rail, const void* packet, std::size_t length,
                         Payload payload, const Account& account) {
  Op* const op = rails_[rail]->sends().take(Op::Kind::kSend);
  op->length = length;
  std::memcpy(op->buffer, packet, length);
  submit(link, op, std::move(payload), account);
}

void Port::write(Link& link, Payload payload, WriteMark mark, const Account& account) {
  const Locked lock(*this);
  if (link.broken) return;
  ++link.sent;
  Op* const op = rails_[least_loaded(link)]->sends().take(Op::Kind::kWrite);
  op->length = 0;
  op->mark = mark.bits();
  submit(link, op, std::move(payload), account);
}

void Port::submit(Link& link, Op* op, Payload payload, const Account& account) {
  op->length += payload.bytes;
  op->source = std::move(payload.source);
  op->offset = payload.offset;
  op->bytes = payload.bytes;
  op->link = &link;
  op->account = account;
  if (account.unsent) {
    // relaxed: whoever asks is the thread that sends.
    account.unsent->by_peer[account.peer].fetch_add(1, std::memory_order_relaxed);
    account.unsent->all.fetch_add(1, std::memory_order_relaxed);
  }
  Way& way = link.ways[op->rail];
  ++link.unfinished;
  way.under_way += op->length;
  way.given += op->length;
  way.pending.push_back(op);
  flush(link);
}

void Port::finish(Op* op) {
  --op->link->unfinished;
  op->link->ways[op->rail].under_way -= op->length;
  if (const auto unsent = std::exchange(op->account.unsent, nullptr)) {
    // release: who sees that all is sent sees that the memory is free again.
    unsent->by_peer[op->account.peer].fetch_sub(1, std::memory_order_release);
    unsent->all.fetch_sub(1, std::memory_order_release);
  }
  if (op->source) done_with_.push_back(std::exchange(op->source, nullptr));
  rails_[op->rail]->sends().give_back(op);
}

void Port::give_back(Op* op) {
  if (mark_.forked()) return;
  std::lock_guard lock(mutex_);
  rails_[op->rail]->receives().give_back(op);
}

// Hands an operation to libfabric, or says why not.
long Port::issue(Op* op) {
  Link& link = *op->link;
  Rail& rail = *rails_[op->rail];
  const fi_addr_t to = link.ways[op->rail].address;
  if (op->kind == Op::Kind::kSend) return rail.send(op, to);
  const auto target = link.targets.find(op->source->segment);
  return target == link.targets.end() ? -FI_EAGAIN : rail.write(op, to, target->second);
}

// False: the link broke.
bool Port::flush(Link& link, Way& way) {
  while (!way.pending.empty()) {
    const long code = issue(way.pending.front());
    if (code == -FI_EAGAIN) break;
    if (code != 0) {
      break_link(link, error_text("fi_send", code));
      return false;
    }
    way.pending.pop_front();
  }
  return true;
}

void Port::flush(Link& link) {
  bool waits = false;
  for (Way& way : link.ways) {
    if (!flush(link, way)) return;
    waits |= !way.pending.empty();
  }
  if (waits) {
    waiting_.insert(&link);
  } else {
    waiting_.erase(&link);
  }
}

void Port::break_link(Link& link, const std::string& why) {
  link.broken = true;
  for (Way& way : link.ways) {
    for (Op* op : std::exchange(way.pending, {})) finish(op);
  }
  waiting_.erase(&link);
  receiver_->take_break(link, why);
}

void Port::grant(Link& link, std::uint32_t segment, const Target& target) {
  const Locked lock(*this);
  link.targets[segment] = target;
  if (!link.broken) flush(link);
}

void Port::forget(Link& link, std::uint32_t segment) {
  std::lock_guard lock(mutex_);
  link.targets.erase(segment);
}

std::uint64_t Port::sent(const Link& link) const {
  std::lock_guard lock(mutex_);
  return link.sent;
}

std::int64_t Port::settled(Link& link) {
  const Locked lock(*this);
  progress_locked();
  return link.unfinished == 0 ? static_cast<std::int64_t>(link.sent) : -1;
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

bool Port::may_wait() {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(rails_, [](const auto& rail) { return rail->may_wait(); });
}

}  // namespace weft::ofi
