// What a fabric knows of one peer: the connection dialled to it, the link to its port, the copies
// of its segments, and whether it lives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "fabric/bell.h"
#include "fabric/fabric.h"
#include "fabric/life.h"
#include "fabric/ofi/net/memory.h"
#include "fabric/ofi/net/port.h"
#include "fabric/ofi/session/address.h"
#include "fabric/ofi/session/notice.h"
#include "fabric/ofi/session/secret.h"
#include "fabric/watcher.h"

namespace weft::ofi {

// A fabric has one Remote a peer, shared by all its lanes. Thread safe.
//
// Locks are taken in one order: the port's, then that of the lanes, then a Remote's. So no call of
// the port happens under a Remote's.
class Remote : public std::enable_shared_from_this<Remote> {
 public:
  Remote(Address address, const Token& own, Secret secret, std::shared_ptr<Port> port,
         std::shared_ptr<Watcher> watcher, std::shared_ptr<Bell> bell);
  ~Remote();

  const Address& address() const { return address_; }
  Link& link() const { return link_; }
  Mirrors& mirrors() { return mirrors_; }
  // Of it and us; it finds the same.
  bool speaks_first() const { return address_.token < own_; }

  // Connects, unless that is done. Throws Timeout, PeerLost, Unsupported, each without the peer's
  // rank, which the caller knows. A peer that is gone is lost(), no error.
  void dial(Clock::time_point deadline);
  // Waits until the peer has answered. Dials again if it ends the connection before: a listener
  // beset by strangers may drop it as one of them. Throws PeerLost, Timeout, Unsupported.
  void await_welcome(Clock::time_point deadline);

  // Sends a notice, unless the peer is lost.
  void tell(Kind kind, std::uint32_t subject);
  // Tells it that its lane `pair` has ended here, after all that was sent to it.
  void tell_abort(std::uint32_t pair, const std::string& why);
  // Asks, once, where the peer's copy of a segment is. The port learns it.
  void ask(std::uint32_t segment, std::size_t bytes);
  // The last collective that the peer's lane `pair` has entered, if it answers soon.
  std::optional<std::uint64_t> progress_of(std::uint32_t pair);

  // Asks its lane `pair` to deliver nothing more. at_rest: it has said so, and all that it had sent
  // before has arrived, or nothing arrives any more.
  void bar(std::uint32_t pair);
  bool at_rest(std::uint32_t pair) const;
  // Breaks the link. See Port::cut.
  bool cut_off() { return port_->cut(link_, address_.rails); }
  // How many packets and writes it was ever sent.
  std::uint64_t sent() const { return port_->sent(link_); }

  // A packet or a write of the peer has arrived.
  void count_arrival();
  // Whether so many of them have, or no more will come.
  bool has_arrived(std::uint64_t sent) const;
  // The peer leaves, having sent us so many of them.
  void hear_bye(std::uint64_t sent);
  // The peer has got all of ours.
  void hear_done();
  // Leaving: says so as soon as all that was sent is under way, and waits until it has arrived.
  void say_bye(Clock::time_point deadline);
  void await_done(Clock::time_point deadline);
  // A lane with it was aborted: it may be in the middle of a write.
  void mark_aborted() { aborted_.store(true, std::memory_order_relaxed); }
  // Whether nothing of what the peer sends can be arriving any more: it has left, or it goes on
  // without us and no lane was aborted. A lane that ends well has received all that was sent.
  bool is_settled() const;

  Life& life() { return life_; }
  std::string lost() const { return life_.lost(); }
  bool is_lost() const { return life_.is_lost(); }
  // The network between us and it failed.
  void lose_connection(const std::string& why);

 private:
  enum class State { kUnknown, kDialled, kWelcomed, kLost };
  static constexpr std::uint64_t kStays = std::numeric_limits<std::uint64_t>::max();

  void on_readable();
  void take(const Notice& notice);
  bool turned_away();
  void check_welcome(const Notice& notice);
  void left();
  void lose(const std::string& why);
  bool send_locked(Kind kind, std::uint32_t subject, std::uint64_t number,
                   const std::string& text = {});

  const Address address_;
  const Token own_;
  const Secret secret_;
  const std::string challenge_;
  const std::shared_ptr<Port> port_;
  const std::shared_ptr<Watcher> watcher_;
  const std::shared_ptr<Bell> bell_;
  const ForkMark mark_;
  Link& link_;
  Mirrors mirrors_;

  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::uint64_t> leaves_after_{kStays};
  std::atomic<bool> aborted_{false};  // relaxed: read when the lanes are gone

  std::mutex dialling_;  // held while connecting, which may wait
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kUnknown;
  Talk talk_;
  int dials_left_ = 5;
  bool said_bye_ = false, done_ = false, left_ = false;
  std::set<std::uint32_t> asked_;
  // Asked, by the peer's pair.
  std::map<std::uint32_t, std::optional<std::uint64_t>> progress_, barred_;
  Life life_;
};

}  // namespace weft::ofi
