// Sending by a port, and operations that wait until they can go.
#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "fabric/ofi/net/library.h"
#include "fabric/ofi/net/port.h"

namespace weft::ofi {
namespace {

// The rail that has the least under way to the peer; among equal ones, the rail that has carried
// least.
std::size_t least_loaded(const Link& link) {
  const auto less = [](const RailQueue& a, const RailQueue& b) {
    return std::tie(a.under_way, a.given) < std::tie(b.under_way, b.given);
  };
  const auto least = std::min_element(link.queues.begin(), link.queues.end(), less);
  return static_cast<std::size_t>(least - link.queues.begin());
}

}  // namespace

void Port::send(Link& link, const void* packet, std::size_t length, const Account& account) {
  const Locked lock(*this);
  if (!link.broken) send_small(link, least_loaded(link), packet, length, account);
}

void Port::send_on_every_rail(Link& link, const void* packet, std::size_t length,
                              const Account& account) {
  const Locked lock(*this);
  for (std::size_t rail = 0; rail < rails_.size() && !link.broken; ++rail) {
    send_small(link, rail, packet, length, account);
  }
}

void Port::send_small(Link& link, std::size_t rail, const void* packet, std::size_t length,
                      const Account& account) {
  ++link.sent;
  RailQueue& queue = link.queues[rail];
  if (queue.pending.empty() && rails_[rail]->inject(queue.address, packet, length)) return;
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

void Port::deliver(Link& link, const MessagePacket& packet, Payload payload, std::uint64_t key,
                   WriteMark mark, const Account& account, const std::atomic<bool>& barred) {
  const Locked lock(*this);
  // A thread that bars looks afterwards, under this lock, how much was sent.
  if (link.broken || barred.load()) return;
  link.sent += 2;
  Rail& rail = *rails_[least_loaded(link)];
  Op* const write = rail.sends().take(Op::Kind::kDeliver);
  write->length = 0;
  write->mark = mark.bits();
  write->key = key;
  std::memcpy(&write->offset, packet.body, sizeof write->offset);
  Op* const after = rail.sends().take(Op::Kind::kSend);
  after->length = MessagePacket::kAfterPayload;
  std::memcpy(after->buffer, &packet, MessagePacket::kWithPlace);
  after->seal = after->buffer + MessagePacket::kWithPlace;
  after->set_seal(Seal::kWhole);
  submit(link, write, std::move(payload), account);
  if (link.broken) return rail.sends().give_back(after);
  submit(link, after, {}, account);
}

void Port::submit(Link& link, Op* op, Payload payload, const Account& account) {
  op->length += payload.bytes;
  op->payload = std::move(payload);
  if (op->kind == Op::Kind::kSend && op->payload.bytes > 0 && !op->payload.source) {
    op->seal = op->buffer + MessagePacket::kHead;
    op->set_seal(Seal::kWhole);
    op->length += sizeof(Seal);
  }
  op->link = &link;
  op->account = account;
  if (account.unsent) {
    // relaxed: the thread that asks is the thread that sends.
    account.unsent->by_peer[account.peer].fetch_add(1, std::memory_order_relaxed);
    account.unsent->all.fetch_add(1, std::memory_order_relaxed);
  }
  RailQueue& queue = link.queues[op->rail];
  ++link.unfinished;
  queue.under_way += op->length;
  queue.given += op->length;
  queue.pending.push_back(op);
  flush(link);
}

void Port::finish(Op* op) {
  --op->link->unfinished;
  op->link->queues[op->rail].under_way -= op->length;
  if (const auto unsent = std::exchange(op->account.unsent, nullptr)) {
    // release: who sees that all is sent sees that the memory is free again.
    unsent->by_peer[op->account.peer].fetch_sub(1, std::memory_order_release);
    unsent->all.fetch_sub(1, std::memory_order_release);
  }
  if (op->payload.source) done_with_.push_back(std::exchange(op->payload.source, nullptr));
  rails_[op->rail]->sends().give_back(op);
}

// Hands an operation to libfabric, or says why not.
long Port::issue(Op* op) {
  Link& link = *op->link;
  Rail& rail = *rails_[op->rail];
  const fi_addr_t to = link.queues[op->rail].address;
  if (op->kind == Op::Kind::kSend) return rail.send(op, to);
  if (op->kind == Op::Kind::kDeliver) return rail.write(op, to, op->offset, op->key);
  const Payload& payload = op->payload;
  const auto target = link.targets.find(payload.source->segment);
  if (target == link.targets.end()) return -FI_EAGAIN;
  const auto offset = static_cast<std::uint64_t>(payload.data - payload.source->data);
  return rail.write(op, to, target->second.base + offset, target->second.keys[op->rail]);
}

// False: the link broke.
bool Port::flush(Link& link, RailQueue& queue) {
  while (!queue.pending.empty()) {
    const long code = issue(queue.pending.front());
    if (code == -FI_EAGAIN) break;
    if (code != 0) {
      break_link(link, error_text("fi_send", code));
      return false;
    }
    queue.pending.pop_front();
  }
  return true;
}

void Port::flush(Link& link) {
  bool waits = false;
  for (RailQueue& queue : link.queues) {
    if (!flush(link, queue)) return;
    waits |= !queue.pending.empty();
  }
  if (waits) {
    waiting_.insert(&link);
  } else {
    waiting_.erase(&link);
  }
}

void Port::break_link(Link& link, const std::string& why) {
  link.broken = true;
  for (RailQueue& queue : link.queues) {
    for (Op* op : std::exchange(queue.pending, {})) finish(op);
  }
  waiting_.erase(&link);
  receiver_->take_broken_link(link, why);
}

void Port::break_seals(const Unsent& account) {
  const Locked lock(*this);
  for (const auto& rail : rails_) rail->sends().break_seals(account);
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

bool Port::broken(const Link& link) const {
  std::lock_guard lock(mutex_);
  return link.broken;
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

}  // namespace weft::ofi
