#include "fabric/mail/endpoint.h"

#include <thread>
#include <utility>

#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft::mail {
namespace {

constexpr const char* kLeft = "it has left: its communicator is closed";
constexpr std::chrono::milliseconds kAnswer{100};
std::size_t at(int place) { return static_cast<std::size_t>(place); }

}  // namespace

MailEndpoint::MailEndpoint(std::shared_ptr<Site> site, std::vector<int> ranks, int me,
                           std::vector<std::string> processes, std::unique_ptr<NativeLane> native)
    : Endpoint(kFabricMailboxDepth),
      site_(std::move(site)),
      ranks_(std::move(ranks)),
      processes_(std::move(processes)),
      lane_(site_->open(ranks_, me)),
      native_(std::move(native)) {}

MailEndpoint::~MailEndpoint() {
  if (site_->lines->may_call()) site_->close(std::move(lane_));
}

// A forked child would take its parent's mail.
std::unique_lock<std::mutex> MailEndpoint::enter() const {
  mark_.check();
  return std::unique_lock(site_->mutex);
}

std::string MailEndpoint::ticket() const {
  return ticket_of(lane_->number(), lane_->members(), lane_->me()) +
         (native_ ? native_->offer() : "");
}

void MailEndpoint::connect(const std::vector<std::string>& tickets, Clock::time_point deadline) {
  mark_.check();
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    wanted.push_back(lane_->serves(i) || static_cast<int>(i) == lane_->me());
  const std::vector<std::uint64_t> numbers = parse_tickets(tickets, wanted);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!site_->lines->is_number(numbers[i], ranks_.size()))
      throw InvalidArgument(rank(i) + "its ticket is damaged: there is no such lane");
  {
    const auto lock = enter();
    lane_->greet(numbers);
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    while (lane_->serves(i) && !has_joined(i, deadline)) std::this_thread::yield();
  finish_connecting(native_ && native_->agrees_together());
  if (native_) native_->agree(tickets);
}

// A member that gave up would never agree. A member that has connected agrees, or has left since.
void MailEndpoint::finish_connecting(bool together) {
  const auto lock = enter();
  lane_->progress();
  notice();
  for (std::size_t i = 0; together && i < ranks_.size(); ++i)
    if (lane_->serves(i) && lane_->left_unconnected(i)) throw PeerLost(rank(i) + kLeft);
  lane_->note_connected();
}

bool MailEndpoint::has_joined(std::size_t place, Clock::time_point deadline) {
  const auto lock = enter();
  lane_->progress();
  notice();
  if (lane_->has_joined(place)) return true;
  if (lane_->has_left(place)) throw PeerLost(rank(place) + kLeft);
  if (Clock::now() > deadline) throw Timeout(rank(place) + "it has not connected to the lane");
  return false;
}

void MailEndpoint::post(const Outgoing& out) {
  const auto lock = enter();
  for (const Reader& reader : out.readers)
    lane_->send(reader.peer, out, reader.number,
                out.bytes > kInlineBytes ? site_->keeper(out.slot->data) : nullptr);
}

bool MailEndpoint::settled(int peer, int channel, std::uint64_t number, std::size_t) {
  const auto lock = enter();
  if (!lane_->credited(peer, channel, number + 1)) receive(peer);
  return lane_->settled(peer, channel, number);
}

bool MailEndpoint::credited(int peer, int channel, std::uint64_t total) {
  const auto lock = enter();
  if (lane_->credited(peer, channel, total)) return true;
  receive(peer);
  look_at_all_now_and_then();
  return lane_->credited(peer, channel, total);
}

const Header* MailEndpoint::arrival(int peer, int channel, std::uint64_t number) {
  const auto lock = enter();
  if (const Header* header = lane_->arrival(peer, channel, number)) return header;
  receive(peer);
  look_at_all_now_and_then();
  return lane_->arrival(peer, channel, number);
}

// What has come may be what another thread sleeps for.
void MailEndpoint::receive(int peer) {
  if (lane_->receive(peer)) site_->ring();
  notice();
}

// A member that nobody waits for may abort or leave, and what is on its way needs the library.
void MailEndpoint::look_at_all_now_and_then() {
  if (++looks_ % 8 == 0 && lane_->progress()) site_->ring();
  notice();
}

void MailEndpoint::notice() {
  // relaxed: a rank that sees it asks under the lock.
  if (lane_->troubled()) troubled_.store(true, std::memory_order_relaxed);
}

Delivery MailEndpoint::payload(int peer, int channel, std::uint64_t number, const Buffers&) {
  const auto lock = enter();
  return lane_->payload(peer, channel, number);
}

void MailEndpoint::credit(int peer, int channel, std::uint64_t total) {
  const auto lock = enter();
  lane_->credit(peer, channel, total, depth() / 4);
}

void MailEndpoint::begin(std::uint64_t sequence, std::span<std::byte>) {
  const auto lock = enter();
  lane_->begin(sequence);
}

// The caller's memory was never used. A lane that failed lets what was sent before the abort go, as
// far as its readers still take it.
int MailEndpoint::end(Outcome outcome) {
  if (mark_.forked()) return kNobody;
  const auto awaited = [&] {
    const auto lock = enter();
    lane_->progress();
    return lane_->awaited();
  };
  if (outcome == Outcome::kDone) return awaited();
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (awaited() != kNobody && Clock::now() < deadline) std::this_thread::yield();
  return kNobody;
}

// relaxed: see notice().
bool MailEndpoint::troubled() const { return troubled_.load(std::memory_order_relaxed); }

std::string MailEndpoint::why_aborted() const {
  if (mark_.forked()) return "";
  const auto lock = enter();
  return lane_->why_aborted();
}

std::string MailEndpoint::lost(int peer) {
  if (mark_.forked()) return "";
  const auto lock = enter();
  receive(peer);
  return lane_->has_left(at(peer)) ? kLeft : "";
}

void MailEndpoint::abort(const std::string& why) {
  const auto lock = enter();
  lane_->abort(why);
  notice();
  site_->ring();
}

PeerState MailEndpoint::about(int peer) const { return {processes_[at(peer)]}; }

// The peer answers when it looks for mail.
std::optional<std::uint64_t> MailEndpoint::last_begun(int peer) {
  {
    const auto lock = enter();
    lane_->ask(peer);
  }
  for (const auto deadline = Clock::now() + kAnswer; Clock::now() < deadline;
       std::this_thread::sleep_for(kLookEvery)) {
    const auto lock = enter();
    receive(peer);
    if (const auto told = lane_->told(at(peer))) return told;
  }
  return std::nullopt;
}

}  // namespace weft::mail
