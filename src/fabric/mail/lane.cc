#include "fabric/mail/lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/delivery.h"
#include "weft/error.h"

namespace weft::mail {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

// Of what a peer sends, only this is used as an index or a length here.
void check(const Mail& mail) {
  const bool known = mail.channel >= 0 && mail.channel < kMaxChannels;
  const bool fits = mail.kind != Mail::Kind::kAbort || mail.header.bytes <= kInlineBytes;
  if (!known || !fits)
    throw InternalError("damaged mail: channel " + std::to_string(mail.channel) + ", " +
                        std::to_string(mail.header.bytes) + " bytes");
}

}  // namespace

Lane::Lane(Lines& lines, std::vector<int> ranks, int me)
    : lines_(lines), me_(me), number_(lines.claim(ranks.size())), peers_(ranks.size()) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] >= 0 && static_cast<int>(i) != me)
      peers_[i].line = lines.open(number_, ranks[i], static_cast<int>(i), me);
}

template <typename Each>
void Lane::for_peers(Each each) {
  for (Peer& peer : peers_)
    if (peer.line) each(peer);
}

// Of a lane that is over, or at the end of the process.
Lane::~Lane() {
  const bool may_call = lines_.may_call();
  for_peers([&](Peer& peer) {
    if (may_call)
      leave_behind(peer);
    else
      (void)peer.line.release();
  });
  if (may_call) lines_.give_back(number_);
}

// Memory that the library still uses is left to it: to wait for the end may take for ever.
void Lane::leave_behind(Peer& peer) {
  const std::uint64_t received = peer.line->received(), sent = peer.line->sent();
  for (Queue& queue : peer.queues) {
    for (Received& message : queue.messages)
      if (message.awaits > received) (void)message.memory.bytes.release();
    for (Sent& message : queue.in_slots)
      if (message.awaits > sent) new std::shared_ptr<const void>(std::move(message.memory));
  }
}

// === Sending ===

Mail& Lane::begin_mail(Mail::Kind kind, int channel) {
  outgoing_.kind = kind;
  outgoing_.channel = channel;
  outgoing_.place = 0;
  outgoing_.header = {};
  return outgoing_;
}

void Lane::post(Peer& to, Mail& mail, std::size_t inlined) {
  Queue& queue = to.queues[static_cast<std::size_t>(mail.channel)];
  mail.credited = queue.told = queue.first;
  to.line->send(mail, inlined, is_awaited(mail));
}

// A peer that is in the same collective takes its messages, and one that is told of an abort takes
// that. Else it may wait for this rank by other means before it looks: a peer whose collective has
// ended looks for no credits, and point to point it may have begun nothing yet.
bool Lane::is_awaited(const Mail& mail) const {
  return mail.kind == Mail::Kind::kAbort || (mail.kind == Mail::Kind::kMessage && in_turn_);
}

void Lane::greet(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i < members(); ++i) {
    if (!serves(i)) continue;
    peers_[i].line->join(numbers[i]);
    peers_[i].knows_us = true;
    post(peers_[i], begin_mail(Mail::Kind::kHello, 0), 0);
  }
}

void Lane::send(int place, const Outgoing& out, std::uint64_t number,
                std::shared_ptr<const void> memory) {
  Peer& to = peer(place);
  Mail& mail = begin_mail(Mail::Kind::kMessage, out.channel);
  mail.header.signature = out.signature;
  mail.header.bytes = static_cast<std::uint32_t>(out.bytes);
  if (out.bytes <= kInlineBytes) {
    if (out.bytes > 0) std::memcpy(mail.inlined.data(), out.source, out.bytes);
    return post(to, mail, out.bytes);
  }
  stage(out);
  mail.place = to.line->place_of(out.slot->data, out.bytes);
  post(to, mail, 0);
  if (!mail.place) {
    to.line->send_payload(out.slot->data, out.bytes);
    ++to.payloads_sent;
  }
  queue(place, out.channel).in_slots.push_back({number, to.payloads_sent, std::move(memory)});
}

bool Lane::settled(int place, int channel, std::uint64_t number) {
  Peer& to = peer(place);
  Queue& queue = this->queue(place, channel);
  const std::uint64_t sent = to.line->sent();
  while (!queue.in_slots.empty() && queue.in_slots.front().number < queue.credited &&
         queue.in_slots.front().awaits <= sent)
    queue.in_slots.pop_front();
  return queue.credited > number &&
         (queue.in_slots.empty() || queue.in_slots.front().number > number);
}

void Lane::ask(int place) {
  peer(place).told.reset();
  post(peer(place), begin_mail(Mail::Kind::kAsk, 0), 0);
}

// A member that has left needs nothing more. Over a network its word that it has taken all may come
// after its farewell.
int Lane::awaited() {
  for (std::size_t i = 0; i < members(); ++i)
    if (serves(i) && !has_left(i) && !peers_[i].line->idle()) return static_cast<int>(i);
  return Endpoint::kNobody;
}

// === Receiving ===

bool Lane::receive(int place) {
  Peer& from = peer(place);
  bool any = false;
  while (const Mail* mail = from.line->next()) {
    take(from, *mail);
    any = true;
  }
  if (from.payloads_here != from.payloads_awaited) {
    const std::uint64_t here = from.line->received();
    any = any || here != from.payloads_here;
    from.payloads_here = here;
  }
  heed(from);
  return any;
}

bool Lane::progress() {
  lines_.progress();
  bool any = false;
  for (std::size_t i = 0; i < members(); ++i)
    if (serves(i)) any = receive(static_cast<int>(i)) || any;
  return any;
}

void Lane::take(Peer& from, const Mail& mail) {
  check(mail);
  Queue& queue = from.queues[static_cast<std::size_t>(mail.channel)];
  queue.credited = std::max(queue.credited, mail.credited);
  switch (mail.kind) {
    case Mail::Kind::kHello:
      from.joined = true;
      break;
    case Mail::Kind::kMessage:
      take_message(from, mail);
      break;
    case Mail::Kind::kCredit:
      break;
    case Mail::Kind::kAsk: {
      if (said_farewell_) break;  // nothing may follow that
      Mail& answer = begin_mail(Mail::Kind::kTell, 0);
      answer.place = begun_;
      post(from, answer, 0);
      break;
    }
    case Mail::Kind::kTell:
      from.told = mail.place;
      break;
    case Mail::Kind::kAbort:
      from.aborts = true;
      from.why.assign(reinterpret_cast<const char*>(mail.inlined.data()), mail.header.bytes);
      from.since = Clock::now();
      break;
    case Mail::Kind::kFarewell:
      from.leaves = true;
      from.connected = mail.place != 0;
      from.since = Clock::now();
      break;
  }
}

void Lane::take_message(Peer& from, const Mail& mail) {
  Received& received = from.queues[static_cast<std::size_t>(mail.channel)].messages.emplace_back();
  received.header = mail.header;
  const std::size_t bytes = mail.header.bytes;
  if (bytes <= kInlineBytes) {
    std::memcpy(received.inlined.data(), mail.inlined.data(), bytes);
  } else if (mail.place) {
    received.payload = from.line->reach(mail.place, bytes);
  } else {
    received.memory = take_memory(bytes);
    received.payload = received.memory.bytes.get();
    received.awaits = ++from.payloads_awaited;
    from.line->receive(received.memory.bytes.get(), bytes);
  }
}

// An abort or a farewell passes by nothing that was sent before.
void Lane::heed(Peer& from) {
  if (!from.aborts && !from.leaves) return;
  if (from.payloads_here != from.payloads_awaited && Clock::now() < from.since + kPatience) return;
  if (std::exchange(from.aborts, false) && why_.empty()) why_ = from.why;
  if (std::exchange(from.leaves, false)) from.left = true;
  troubled_ = true;
}

const Header* Lane::arrival(int place, int channel, std::uint64_t number) const {
  const Queue& queue = this->queue(place, channel);
  const std::uint64_t at = number - queue.first;
  if (at >= queue.messages.size()) return nullptr;
  const Received& received = queue.messages[at];
  const Peer& from = peers_[static_cast<std::size_t>(place)];
  return received.awaits > from.payloads_here ? nullptr : &received.header;
}

Delivery Lane::payload(int place, int channel, std::uint64_t number) const {
  const Queue& queue = this->queue(place, channel);
  const Received& received = queue.messages[number - queue.first];
  return {received.payload ? received.payload : received.inlined.data(), received.header.bytes};
}

void Lane::credit(int place, int channel, std::uint64_t total, std::uint64_t patience) {
  Queue& queue = this->queue(place, channel);
  bool reuses = false;  // the sender needs to know when it may use its slot again
  for (; queue.first < total; ++queue.first) {
    Received& received = queue.messages.front();
    reuses = reuses || received.payload;
    if (received.memory.bytes) recycle(std::move(received.memory));
    queue.messages.pop_front();
  }
  if (reuses || queue.first - queue.told >= patience)
    post(peer(place), begin_mail(Mail::Kind::kCredit, channel), 0);
}

bool Lane::credited(int place, int channel, std::uint64_t total) const {
  return queue(place, channel).credited >= total;
}

Lane::Memory Lane::take_memory(std::size_t bytes) {
  const auto fits = std::ranges::find_if(spare_, [&](auto& m) { return m.capacity >= bytes; });
  if (fits == spare_.end()) return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  Memory found = std::move(*fits);
  spare_.erase(fits);
  return found;
}

void Lane::recycle(Memory memory) {
  constexpr std::size_t most = 16;
  if (spare_.size() < most) spare_.push_back(std::move(memory));
}

// === The end ===

void Lane::abort(const std::string& why) {
  if (!why_.empty()) return;
  why_ = why.empty() ? "aborted" : why;
  troubled_ = true;
  for_peers([&](Peer& to) {
    if (!to.knows_us) return;
    Mail& mail = begin_mail(Mail::Kind::kAbort, 0);
    const std::size_t bytes = std::min(why_.size(), kInlineBytes);
    std::memcpy(mail.inlined.data(), why_.data(), bytes);
    mail.header.bytes = static_cast<std::uint32_t>(bytes);
    post(to, mail, bytes);
  });
}

void Lane::say_farewell() {
  said_farewell_ = true;
  for_peers([&](Peer& to) {
    if (!to.knows_us) return;
    Mail& mail = begin_mail(Mail::Kind::kFarewell, 0);
    mail.place = connected_ ? 1 : 0;
    post(to, mail, 0);
  });
}

bool Lane::is_over() {
  progress();
  for (const Peer& from : peers_)
    if (from.line &&
        !(from.left && from.payloads_here == from.payloads_awaited && from.line->idle()))
      return false;
  return true;
}

}  // namespace weft::mail
