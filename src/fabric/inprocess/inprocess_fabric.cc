// The whole of it: a Site is what peers see of a fabric, a Box what one member of a lane was sent.
#include "fabric/inprocess/inprocess_fabric.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <sstream>
#include <thread>

#include "base/host.h"
#include "base/membarrier.h"
#include "fabric/delivery.h"
#include "fabric/doorbell.h"
#include "fabric/location.h"
#include "fabric/members.h"
#include "fabric/segments.h"
#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr const char* kLeft = "its fabric, of this process, left";
std::size_t at(int place) { return static_cast<std::size_t>(place); }

struct Queued {
  Header header{};
  const std::byte* payload = nullptr;       // null: it is inlined
  std::shared_ptr<const Segment> memory{};  // of the payload: a sender that leaves gives it up
  std::array<std::byte, kInlineBytes> inlined{};
};

// Each member writes into queues of its own.
struct Box {
  struct Queue {
    std::deque<Queued> messages{};  // those that are not credited
    std::uint64_t first = 0;        // the number of the first of them
    std::uint64_t credited = 0;     // of our messages, by that member
  };

  explicit Box(std::size_t members) : joined(members), queues(members) {}
  Queue& queue(int member, int channel) { return queues[at(member)][at(channel)]; }

  std::atomic<bool> aborted{false};
  std::atomic<std::uint64_t> begun{0};
  std::mutex mutex;  // of what follows
  std::string why;
  std::vector<bool> joined;
  std::vector<std::array<Queue, kMaxChannels>> queues;
};

// Thread safe.
struct Site final : Forkable {
  Segments segments;
  Doorbell doorbell{};
  std::atomic<bool> gone{false};
  std::mutex mutex;                         // of what follows
  std::vector<std::weak_ptr<Box>> boxes{};  // by the number in their tickets

  void lock_for_fork() override { segments.lock_for_fork(); }
  void unlock_after_fork() override { segments.unlock_after_fork(); }
  void detach_in_child() override { segments.detach_in_child(); }
};

class InprocessEndpoint final : public Endpoint {
 public:
  InprocessEndpoint(std::shared_ptr<Site> own, std::vector<std::shared_ptr<Site>> sites, int me)
      : Endpoint(64),
        site_(std::move(own)),
        box_(std::make_shared<Box>(sites.size())),
        me_(me),
        sites_(std::move(sites)),
        boxes_(sites_.size()) {
    std::lock_guard lock(site_->mutex);
    number_ = site_->boxes.size();
    site_->boxes.push_back(box_);
  }

  std::string ticket() const override { return ticket_of(number_, sites_.size(), me_); }
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override {
    std::vector<bool> wanted;
    for (const auto& site : sites_) wanted.push_back(site != nullptr);
    const std::vector<std::uint64_t> numbers = parse_tickets(tickets, wanted);
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (!wanted[i]) continue;
      std::lock_guard site_lock(sites_[i]->mutex);
      boxes_[i] = sites_[i]->boxes.at(numbers[i]).lock();
      if (!boxes_[i]) throw PeerLost(rank(i) + kLeft);
      std::lock_guard lock(boxes_[i]->mutex);
      boxes_[i]->joined[at(me_)] = true;
    }
    for (std::size_t i = 0; i < sites_.size(); ++i)
      while (wanted[i] && !has_joined(i, deadline))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    connected_ = true;  // an abort on another thread sees the boxes
  }

  // All payloads go by the slot, as prepare() has it.
  void post(const Outgoing& out) override {
    mark_.check();
    Queued queued;
    queued.header.signature = out.signature;
    queued.header.bytes = static_cast<std::uint32_t>(out.bytes);
    if (out.bytes > kInlineBytes) {
      stage(out);
      queued.payload = out.slot->data;
      queued.memory = site_->segments.find(segment_of(out.slot->where));
    } else if (out.bytes > 0) {
      std::memcpy(queued.inlined.data(), out.source, out.bytes);
    }
    for (const Reader& reader : out.readers) {
      Box& box = *boxes_[at(reader.peer)];
      std::lock_guard lock(box.mutex);
      box.queue(me_, out.channel).messages.push_back(queued);
      ring(sites_[at(reader.peer)]->doorbell);
    }
  }

  bool credited(int peer, int channel, std::uint64_t total) override {
    std::lock_guard lock(box_->mutex);
    return box_->queue(peer, channel).credited >= total;
  }
  const Header* arrival(int peer, int channel, std::uint64_t number) override {
    const Queued* const queued = find(peer, channel, number);
    return queued ? &queued->header : nullptr;
  }
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers&) override {
    const Queued& queued = *find(peer, channel, number);
    return {queued.payload ? queued.payload : queued.inlined.data(), queued.header.bytes};
  }

  void credit(int peer, int channel, std::uint64_t total) override {
    mark_.check();
    {
      std::lock_guard lock(box_->mutex);
      Box::Queue& from = box_->queue(peer, channel);
      for (; from.first < total; ++from.first) from.messages.pop_front();
    }
    std::lock_guard lock(boxes_[at(peer)]->mutex);
    boxes_[at(peer)]->queue(me_, channel).credited = total;
    ring(sites_[at(peer)]->doorbell);
  }

  void begin(std::uint64_t sequence, std::span<std::byte>) override { box_->begun = sequence; }
  // What was posted has arrived, and nobody touches the caller's memory.
  int end(Outcome) override { return kNobody; }
  bool troubled() const override {
    const auto gone = [](const auto& site) { return site && site->gone; };
    return box_->aborted || std::ranges::any_of(sites_, gone);
  }
  std::string why_aborted() const override {
    std::lock_guard lock(box_->mutex);
    return box_->why;
  }
  std::string lost(int peer) override { return sites_[at(peer)]->gone ? kLeft : ""; }
  void abort(const std::string& why) override {
    mark_.check();
    const auto end = [&why](Box& box, Site& site) {
      std::lock_guard lock(box.mutex);
      if (box.why.empty()) box.why = why;
      box.aborted = true;
      ring(site.doorbell);
    };
    end(*box_, *site_);
    for (std::size_t i = 0; connected_ && i < boxes_.size(); ++i)
      if (boxes_[i]) end(*boxes_[i], *sites_[i]);
  }

  PeerState about(int) const override {
    return {"process " + std::to_string(::getpid()) + " (on host " + host_identity().name + ")"};
  }
  std::optional<std::uint64_t> last_begun(int peer) override { return boxes_[at(peer)]->begun; }

 private:
  // Null: not here yet. A deque keeps its elements where they are.
  const Queued* find(int peer, int channel, std::uint64_t number) const {
    std::lock_guard lock(box_->mutex);
    const Box::Queue& from = box_->queue(peer, channel);
    const std::uint64_t place = number - from.first;
    return place < from.messages.size() ? &from.messages[place] : nullptr;
  }

  bool has_joined(std::size_t place, Clock::time_point deadline) const {
    const bool gone = sites_[place]->gone;  // read first: it may join, then leave
    std::lock_guard lock(box_->mutex);
    if (box_->joined[place]) return true;
    if (gone) throw PeerLost(rank(place) + kLeft);
    if (Clock::now() > deadline) throw Timeout(rank(place) + "it has not connected to the lane");
    return false;
  }

  const ForkMark mark_;
  const std::shared_ptr<Site> site_;
  const std::shared_ptr<Box> box_;
  std::uint64_t number_;  // of box_
  const int me_;
  const std::vector<std::shared_ptr<Site>> sites_;
  std::vector<std::shared_ptr<Box>> boxes_;  // since connect()
  std::atomic<bool> connected_{false};
};

// "inprocess <pid> <token>"
struct Address {
  std::string pid;
  Token token{};

  static Address parse(const std::string& text) {
    std::istringstream in(text);
    std::string word, pid, hex;
    in >> word >> pid >> hex;
    const auto token = Token::parse(hex);
    if (word != "inprocess" || !token)
      throw InvalidArgument("not the address of an in-process fabric: " + text.substr(0, 80));
    return {pid, *token};
  }
  std::string obstacle(const Address& peer) const {
    return peer.pid == pid ? "" : "it is another process; use shm between processes";
  }
};

class InprocessFabric final : public Fabric {
 public:
  InprocessFabric() : token_(Token::random()), site_(std::make_shared<Site>()) {
    register_heavy_fence();  // if there is none, sleepers look every millisecond
    enrol_local(token_, site_);
  }
  // Peers that sleep notice it within a millisecond.
  ~InprocessFabric() override {
    if (mark_.forked()) return;
    withdraw_local(token_);
    site_->gone = true;
  }

  std::string_view name() const override { return "inprocess"; }
  bool inherited() const override { return mark_.forked(); }
  std::string address() const override { return "inprocess " + own().pid + ' ' + token_.hex(); }
  std::string obstacle(const std::string& address) const override {
    return own().obstacle(Address::parse(address));
  }

  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point) override {
    mark_.check();
    const auto members = parse_members(name(), own(), addresses, me);
    std::vector<std::shared_ptr<Site>> sites(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i == at(me) || addresses[i].empty()) continue;
      sites[i] = std::static_pointer_cast<Site>(find_local(members[i].token));
      if (!sites[i]) throw PeerLost(rank(i) + kLeft);
    }
    return std::make_unique<InprocessEndpoint>(site_, std::move(sites), me);
  }

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override {
    mark_.check();
    return site_->segments.allocate(bytes, use);
  }
  void release(const SymmetricBlock& block) override {
    if (!mark_.forked()) site_->segments.release(block);
  }
  Location locate(const void* data, std::size_t bytes) const override {
    return site_->segments.locate(data, bytes);
  }
  bool isolate(void* data, std::size_t bytes) override {
    return site_->segments.isolate(data, bytes);
  }

  std::uint32_t announce() override { return weft::announce(site_->doorbell); }
  void sleep(std::uint32_t announced) override { weft::sleep(site_->doorbell, announced); }
  void retire() override { weft::retire(site_->doorbell); }
  void ring() override { weft::ring(site_->doorbell); }
  void expect_crowd() override { weft::expect_crowd(site_->doorbell); }

 private:
  Address own() const { return {std::to_string(::getpid()), token_}; }

  const ForkMark mark_;
  const Token token_;
  const std::shared_ptr<Site> site_;
};

}  // namespace

std::shared_ptr<Fabric> make_inprocess_fabric() { return std::make_shared<InprocessFabric>(); }

}  // namespace weft
