#include "fabric/mpi/endpoint.h"

#include <thread>
#include <utility>

#include "fabric/location.h"
#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

constexpr const char* kLeft = "it has closed its communicator";
std::size_t at(int place) { return static_cast<std::size_t>(place); }

}  // namespace

MpiEndpoint::MpiEndpoint(std::shared_ptr<Site> site, std::vector<int> ranks, int me)
    : Endpoint(kFabricMailboxDepth),
      site_(std::move(site)),
      ranks_(std::move(ranks)),
      lane_(site_->open(ranks_, me)) {}

MpiEndpoint::~MpiEndpoint() {
  if (lane_->may_call()) site_->close(lane_);
}

std::string MpiEndpoint::ticket() const {
  return ticket_of(static_cast<std::uint64_t>(lane_->number()), lane_->members(), lane_->me());
}

void MpiEndpoint::connect(const std::vector<std::string>& tickets, Clock::time_point deadline) {
  mark_.check();
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    wanted.push_back(lane_->serves(i) || static_cast<int>(i) == lane_->me());
  const std::vector<std::uint64_t> numbers = parse_tickets(tickets, wanted);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] >= kMostLanes)
      throw InvalidArgument(rank(i) + "its ticket is damaged: there is no such lane");
  {
    std::lock_guard lock(site_->mutex);
    lane_->greet(numbers);
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    while (lane_->serves(i) && !has_joined(i, deadline)) std::this_thread::yield();
}

bool MpiEndpoint::has_joined(std::size_t place, Clock::time_point deadline) {
  std::lock_guard lock(site_->mutex);
  lane_->progress();
  notice();
  if (lane_->has_joined(place)) return true;
  if (lane_->has_left(place)) throw PeerLost(rank(place) + kLeft);
  if (Clock::now() > deadline)
    throw Timeout(rank(place) + "it has not connected to the lane over MPI");
  return false;
}

void MpiEndpoint::post(const Outgoing& out) {
  mark_.check();
  std::shared_ptr<const void> memory;
  if (out.bytes > kInlineBytes) memory = site_->segments.find(segment_of(out.slot->where));
  std::lock_guard lock(site_->mutex);
  for (const Reader& reader : out.readers) lane_->send(reader.peer, out, reader.number, memory);
}

bool MpiEndpoint::settled(int peer, int channel, std::uint64_t number, std::size_t) {
  std::lock_guard lock(site_->mutex);
  if (!lane_->credited(peer, channel, number + 1)) lane_->receive(peer);
  return lane_->credited(peer, channel, number + 1) && lane_->sent(peer, channel, number);
}

bool MpiEndpoint::credited(int peer, int channel, std::uint64_t total) {
  std::lock_guard lock(site_->mutex);
  if (lane_->credited(peer, channel, total)) return true;
  lane_->receive(peer);
  look_at_all_now_and_then();
  return lane_->credited(peer, channel, total);
}

const Header* MpiEndpoint::arrival(int peer, int channel, std::uint64_t number) {
  std::lock_guard lock(site_->mutex);
  if (const Header* header = lane_->arrival(peer, channel, number)) return header;
  lane_->receive(peer);
  look_at_all_now_and_then();
  return lane_->arrival(peer, channel, number);
}

// A member that nobody waits for may abort or leave, and own sends need MPI's attention.
void MpiEndpoint::look_at_all_now_and_then() {
  if (++looks_ % 8 == 0) lane_->progress();
  notice();
}

void MpiEndpoint::notice() {
  // relaxed: a rank that sees it asks under the lock.
  if (lane_->troubled()) troubled_.store(true, std::memory_order_relaxed);
}

Delivery MpiEndpoint::payload(int peer, int channel, std::uint64_t number, const Buffers&) {
  std::lock_guard lock(site_->mutex);
  return lane_->payload(peer, channel, number);
}

void MpiEndpoint::credit(int peer, int channel, std::uint64_t total) {
  mark_.check();
  std::lock_guard lock(site_->mutex);
  lane_->credit(peer, channel, total, depth() / 4);
}

// The caller's memory was never used. A lane that failed lets what was sent before the abort go, as
// far as its readers still take it.
int MpiEndpoint::end(Outcome outcome) {
  const auto awaited = [&] {
    std::lock_guard lock(site_->mutex);
    lane_->progress();
    return lane_->awaited();
  };
  if (outcome == Outcome::kDone) return awaited();
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  while (awaited() != kNobody && Clock::now() < deadline) std::this_thread::yield();
  return kNobody;
}

// relaxed: see notice().
bool MpiEndpoint::troubled() const { return troubled_.load(std::memory_order_relaxed); }

std::string MpiEndpoint::why_aborted() const {
  std::lock_guard lock(site_->mutex);
  return lane_->why_aborted();
}

std::string MpiEndpoint::lost(int peer) {
  std::lock_guard lock(site_->mutex);
  lane_->receive(peer);
  notice();
  return lane_->has_left(at(peer)) ? kLeft : "";
}

void MpiEndpoint::abort(const std::string& why) {
  mark_.check();
  std::lock_guard lock(site_->mutex);
  lane_->abort(why);
  notice();
  ring(site_->doorbell);
}

PeerState MpiEndpoint::about(int peer) const {
  return {"rank " + std::to_string(ranks_[at(peer)]) + " of the MPI job"};
}

}  // namespace weft::mpi
