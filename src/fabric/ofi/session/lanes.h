// The lanes of a fabric, by the numbers under which peers send to them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/bell.h"
#include "fabric/ofi/net/port.h"
#include "fabric/ofi/session/remote.h"

namespace weft::ofi {

// Everything that a lane takes from its members. Members are numbered by their places in the lane.
// Calls come one at a
// time, and must not call the port.
class LaneReceiver {
 public:
  virtual ~LaneReceiver() = default;
  virtual void take_joined(std::size_t place) = 0;
  // False: it makes no sense.
  virtual bool take_message(std::size_t place, Arrived& packet) = 0;
  virtual bool take_write(std::size_t place, int channel, std::uint32_t number) = 0;
  virtual void take_credit(std::size_t place, int channel, std::uint64_t total) = 0;
  // It counts once the member's first `sent` packets and writes are here.
  virtual void take_abort(std::size_t place, std::uint64_t sent, const std::string& why) = 0;
  // Delivers nothing to the member any more.
  virtual void bar(std::size_t place) = 0;
  virtual std::uint64_t last_entered() const = 0;
};

// Thread safe. Numbers are never used again, so that what comes late for a lane that has gone
// meets no other.
class Lanes final : public Receiver {
 public:
  explicit Lanes(std::shared_ptr<Bell> bell) : bell_(std::move(bell)) {}

  // The number of the first of as many pairs as there are members. From null nothing comes.
  std::uint32_t enrol(LaneReceiver* lane, const std::vector<std::shared_ptr<Remote>>& members);
  void withdraw(std::uint32_t first, std::size_t members);

  void take_packet(Arrived& packet) override;
  void take_write(WriteMark mark) override;
  void take_broken_link(Link& link, const std::string& why) override;

  // Came by the connection to `from`, which must be the pair's own peer.
  void take_abort(std::uint32_t pair, const Token& from, std::uint64_t sent,
                  const std::string& why);
  void bar(std::uint32_t pair, const Token& from);
  std::uint64_t last_entered(std::uint32_t pair) const;

 private:
  struct Pair {
    LaneReceiver* lane = nullptr;  // null: it has gone
    std::size_t place = 0;
    std::weak_ptr<Remote> remote;  // it keeps the port, which keeps this
  };
  Pair* find(std::uint32_t pair);
  // Null: it is none of that peer's, or its lane has gone.
  Pair* find(std::uint32_t pair, const Token& from);
  void arrived(const Pair& pair, bool makes_sense);

  const std::shared_ptr<Bell> bell_;
  mutable std::mutex mutex_;
  std::vector<Pair> pairs_;
};

}  // namespace weft::ofi
