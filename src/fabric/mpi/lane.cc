#include "fabric/mpi/lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/delivery.h"

namespace weft::mpi {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr std::size_t kHead = offsetof(Mail, inlined);

}  // namespace

Lane::Lane(const Mpi& mpi, Comm comm, std::vector<int> ranks, int me, int number)
    : mpi_(mpi),
      comm_(comm),
      ranks_(std::move(ranks)),
      me_(me),
      number_(number),
      peers_(ranks_.size()) {
  for (std::size_t i = 0; i < members(); ++i)
    for (int slot = 0; serves(i) && slot < kOpen; ++slot) open(static_cast<int>(i), slot);
}

// Of a lane that is over, or at the end of the process. Memory that MPI may still use is left
// behind: to wait for the end of a long message may take for ever.
Lane::~Lane() {
  if (!may_call()) return;
  for (Peer& from : peers_) {
    for (Request& receive : from.receives) give_up(receive);
    for (Received* late : from.awaited) {
      mpi_.free(late->payload.request);
      (void)late->payload.bytes.release();
    }
  }
  for (Sent& send : sends_) {
    mpi_.free(send.request);
    new Sent(std::move(send));
  }
}

void Lane::give_up(Request& receive) {
  if (!receive) return;
  mpi_.cancel(receive);
  mpi_.wait(receive);
}

void Lane::open(int place, int slot) {
  Peer& from = peer(place);
  const auto at = static_cast<std::size_t>(slot);
  from.receives[at] =
      mpi_.irecv(&from.mail[at], sizeof(Mail), rank(place), mail_tag(number_), comm_);
}

// === Sending ===

std::unique_ptr<Mail> Lane::new_mail(Mail::Kind kind, int channel) {
  std::unique_ptr<Mail> mail;
  if (spare_mail_.empty()) {
    mail = std::make_unique<Mail>();
  } else {
    mail = std::move(spare_mail_.back());
    spare_mail_.pop_back();
  }
  mail->kind = kind;
  mail->channel = channel;
  mail->header = {};
  return mail;
}

void Lane::post(int place, std::unique_ptr<Mail> mail, std::size_t payload) {
  Peer& to = peer(place);
  Queue& queue = to.queues[static_cast<std::size_t>(mail->channel)];
  mail->credited = queue.told = queue.first;
  Request request =
      mpi_.isend(mail.get(), kHead + payload, rank(place), mail_tag(to.number), comm_);
  if (mpi_.test(request))
    spare_mail_.push_back(std::move(mail));
  else
    sends_.push_back({request, place, std::move(mail)});
}

void Lane::greet(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i < members(); ++i) {
    if (!serves(i)) continue;
    peers_[i].number = static_cast<int>(numbers[i]);
    post(static_cast<int>(i), new_mail(Mail::Kind::kHello, 0), 0);
  }
}

void Lane::send(int place, const Outgoing& out, std::uint64_t number,
                const std::shared_ptr<const void>& memory) {
  auto mail = new_mail(Mail::Kind::kMessage, out.channel);
  mail->header.signature = out.signature;
  mail->header.bytes = static_cast<std::uint32_t>(out.bytes);
  const bool follows = out.bytes > kInlineBytes;
  if (!follows && out.bytes > 0) std::memcpy(mail->inlined.data(), out.source, out.bytes);
  post(place, std::move(mail), follows ? 0 : out.bytes);
  if (!follows) return;
  stage(out);
  Request request =
      mpi_.isend(out.slot->data, out.bytes, rank(place), payload_tag(peer(place).number), comm_);
  if (!mpi_.test(request)) sends_.push_back({request, place, nullptr, out.channel, number, memory});
}

bool Lane::look_after_sends() {
  const std::size_t before = sends_.size();
  std::erase_if(sends_, [&](Sent& send) {
    if (!mpi_.test(send.request)) return false;
    if (send.mail) spare_mail_.push_back(std::move(send.mail));
    return true;
  });
  return sends_.size() != before;
}

bool Lane::sent(int place, int channel, std::uint64_t number) {
  const auto is_it = [&](const Sent& send) {
    return !send.mail && send.peer == place && send.channel == channel && send.number == number;
  };
  if (std::ranges::none_of(sends_, is_it)) return true;
  look_after_sends();
  return std::ranges::none_of(sends_, is_it);
}

int Lane::awaited() {
  look_after_sends();
  return sends_.empty() ? Endpoint::kNobody : sends_.front().peer;
}

// === Receiving ===

bool Lane::receive(int place) {
  Peer& from = peer(place);
  bool any = false;
  while (from.receives[static_cast<std::size_t>(from.next)] &&
         mpi_.test(from.receives[static_cast<std::size_t>(from.next)])) {
    const int slot = std::exchange(from.next, (from.next + 1) % kOpen);
    take(place, from.mail[static_cast<std::size_t>(slot)]);
    open(place, slot);
    any = true;
  }
  return take_payloads(from) || any;
}

bool Lane::progress() {
  bool any = false;
  for (std::size_t i = 0; i < members(); ++i)
    if (serves(i)) any = receive(static_cast<int>(i)) || any;
  return look_after_sends() || any;
}

void Lane::take(int place, const Mail& mail) {
  Peer& from = peer(place);
  Queue& queue = from.queues[static_cast<std::size_t>(mail.channel)];
  queue.credited = std::max(queue.credited, mail.credited);
  switch (mail.kind) {
    case Mail::Kind::kHello:
      from.joined = true;
      break;
    case Mail::Kind::kMessage:
      take_message(place, mail);
      break;
    case Mail::Kind::kCredit:
      break;
    case Mail::Kind::kAbort:
      from.aborts = true;
      from.why.assign(reinterpret_cast<const char*>(mail.inlined.data()), mail.header.bytes);
      from.since = Clock::now();
      break;
    case Mail::Kind::kFarewell:
      from.leaves = true;
      from.since = Clock::now();
      break;
  }
}

void Lane::take_message(int place, const Mail& mail) {
  Peer& from = peer(place);
  Queue& queue = from.queues[static_cast<std::size_t>(mail.channel)];
  Received& received = queue.messages.emplace_back();
  received.header = mail.header;
  const std::size_t bytes = mail.header.bytes;
  if (bytes <= kInlineBytes) {
    std::memcpy(received.inlined.data(), mail.inlined.data(), bytes);
    return;
  }
  received.payload = take_memory(bytes);
  received.payload.request =
      mpi_.irecv(received.payload.bytes.get(), bytes, rank(place), payload_tag(number_), comm_);
  from.awaited.push_back(&received);
}

bool Lane::take_payloads(Peer& from) {
  bool any = false;
  while (!from.awaited.empty() && mpi_.test(from.awaited.front()->payload.request)) {
    from.awaited.pop_front();
    any = true;
  }
  heed(from);
  return any;
}

// An abort or a farewell passes by nothing that was sent before.
void Lane::heed(Peer& from) {
  if (!from.aborts && !from.leaves) return;
  if (!from.awaited.empty() && Clock::now() < from.since + kPatience) return;
  if (std::exchange(from.aborts, false) && why_.empty()) why_ = from.why;
  if (std::exchange(from.leaves, false)) from.left = true;
  troubled_ = true;
}

const Header* Lane::arrival(int place, int channel, std::uint64_t number) {
  const Queue& queue = peer(place).queues[static_cast<std::size_t>(channel)];
  const std::uint64_t at = number - queue.first;
  if (at >= queue.messages.size()) return nullptr;
  const Received& received = queue.messages[at];
  return received.payload.request ? nullptr : &received.header;
}

Delivery Lane::payload(int place, int channel, std::uint64_t number) {
  const Queue& queue = peer(place).queues[static_cast<std::size_t>(channel)];
  const Received& received = queue.messages[number - queue.first];
  const std::uint32_t bytes = received.header.bytes;
  return {received.payload.bytes ? received.payload.bytes.get() : received.inlined.data(), bytes};
}

void Lane::credit(int place, int channel, std::uint64_t total, std::uint64_t patience) {
  Queue& queue = peer(place).queues[static_cast<std::size_t>(channel)];
  bool reuses = false;  // the sender needs to know when it may use its slot again
  for (; queue.first < total; ++queue.first) {
    Payload& payload = queue.messages.front().payload;
    reuses = reuses || payload.bytes;
    if (payload.bytes) recycle(payload);
    queue.messages.pop_front();
  }
  if (reuses || queue.first - queue.told >= patience)
    post(place, new_mail(Mail::Kind::kCredit, channel), 0);
}

bool Lane::credited(int place, int channel, std::uint64_t total) {
  return peer(place).queues[static_cast<std::size_t>(channel)].credited >= total;
}

Lane::Payload Lane::take_memory(std::size_t bytes) {
  const auto fits = std::ranges::find_if(spare_, [&](auto& p) { return p.capacity >= bytes; });
  if (fits == spare_.end()) return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  Payload found = std::move(*fits);
  spare_.erase(fits);
  return found;
}

void Lane::recycle(Payload& payload) {
  constexpr std::size_t most = 16;
  if (spare_.size() < most) spare_.push_back(std::move(payload));
}

// === The end ===

void Lane::abort(const std::string& why) {
  if (!why_.empty()) return;
  why_ = why.empty() ? "aborted" : why;
  troubled_ = true;
  for (std::size_t i = 0; i < members(); ++i) {
    if (!serves(i) || peers_[i].number < 0) continue;
    auto mail = new_mail(Mail::Kind::kAbort, 0);
    const std::size_t bytes = std::min(why_.size(), kInlineBytes);
    std::memcpy(mail->inlined.data(), why_.data(), bytes);
    mail->header.bytes = static_cast<std::uint32_t>(bytes);
    post(static_cast<int>(i), std::move(mail), bytes);
  }
}

void Lane::say_farewell() {
  for (std::size_t i = 0; i < members(); ++i)
    if (serves(i) && peers_[i].number >= 0)
      post(static_cast<int>(i), new_mail(Mail::Kind::kFarewell, 0), 0);
}

bool Lane::is_over() {
  progress();
  for (std::size_t i = 0; i < members(); ++i)
    if (serves(i) && !(peers_[i].left && peers_[i].awaited.empty())) return false;
  return sends_.empty();
}

}  // namespace weft::mpi
