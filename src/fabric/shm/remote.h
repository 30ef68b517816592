// The dialling half of a connection: what a fabric knows and has mapped of one peer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "fabric/fabric.h"
#include "fabric/life.h"
#include "fabric/mapping.h"
#include "fabric/process.h"
#include "fabric/shm/address.h"
#include "fabric/shm/wire.h"
#include "fabric/watcher.h"

namespace weft::shm {

// A fabric has one Remote a peer, shared by all its lanes. Thread safe.
//
// Segments are mapped at first use and unmapped when the peer, answering a later request,
// says that they were released. So never more is mapped than the peer had at the last
// request; and what a lane has reached, that lane keeps (Reached).
class Remote : public std::enable_shared_from_this<Remote> {
 public:
  // `doorbell` is the own, rung when the peer is lost.
  Remote(Address address, const Token& own, std::shared_ptr<Watcher> watcher,
         std::shared_ptr<Mapping> doorbell);
  ~Remote();

  const Address& address() const { return address_; }

  // Connects, unless that is done. Does not wait for the answer.
  // Throws Timeout, Unsupported. A peer that is gone is lost(), no error.
  void dial(Clock::time_point deadline);
  // Asks for a segment ahead of its use. Does nothing if it is here, asked for or lost.
  void ask(std::uint32_t id);
  // Waits for a segment. Throws PeerLost (also if the peer has released it), Timeout or
  // Unsupported (no memory to map it); each without the peer's rank, which the caller knows.
  std::shared_ptr<Mapping> segment(std::uint32_t id, Clock::time_point deadline);

  Life& life() { return life_; }
  std::string lost() const { return life_.lost(); }
  bool is_lost() const { return life_.is_lost(); }

 private:
  enum class State { kUnknown, kDialled, kWelcomed, kLeft, kLost };

  void on_readable();
  void ask_locked(std::uint32_t id);
  void take(const Received& received);
  void map(const Received& received);
  void lose(State state);

  const Address address_;
  const Token own_;
  const std::shared_ptr<Watcher> watcher_;
  const std::shared_ptr<Mapping> doorbell_;
  const ForkMark mark_;

  std::mutex dialling_;  // held while connecting, which may wait
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kUnknown;
  LiveFd socket_;
  std::map<std::uint32_t, std::shared_ptr<Mapping>> segments_;
  std::set<std::uint32_t> asked_;
  std::map<std::uint32_t, std::exception_ptr> refused_;  // why a segment cannot be had
  Life life_;
};

}  // namespace weft::shm
