// The libfabric endpoints of a fabric, its rails, as one: packets, remote writes, and their
// completions.
//
// All of libfabric's objects are used under one lock, so any thread may drive any of it. Nothing
// here waits for a peer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/ofi/net/link.h"
#include "fabric/ofi/net/packet.h"
#include "fabric/ofi/net/provider.h"
#include "fabric/ofi/net/rail.h"
#include "fabric/process.h"

namespace weft::ofi {

// Takes everything that arrives, in the order in which the rails bring it. Called under the port's
// lock: it
// must not call the port.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // May take it away.
  virtual void take_packet(Arrived& packet) = 0;
  virtual void take_write(WriteMark mark) = 0;
  virtual void take_broken_link(Link& link, const std::string& why) = 0;
};

// Thread safe. Made by make(), because registrations share it.
class Port : public std::enable_shared_from_this<Port>, public Returns {
 public:
  // Throws Unsupported saying what libfabric refuses.
  static std::shared_ptr<Port> make(const Provider& provider, std::shared_ptr<Receiver> receiver);
  ~Port();
  Port(const Port&) = delete;
  // Keeps it until the process ends. tcp;ofi_rxm of libfabric 1.17 must not be closed while a write
  // of a peer has arrived in part: rxm_handle_comp_error follows the null context of that write.
  // Only the end of the connection removes the write.
  static void abandon(std::shared_ptr<Port> port);

  // The names by which peers link to it, one for each rail: any bytes.
  std::vector<std::string> names() const;
  // `names`: the peer's, as many as here. Lives as long as the port. Throws Unsupported.
  Link& link(const std::vector<std::string>& names);

  // Bytes of payload that a packet carries at most. The same at all peers.
  std::size_t eager() const { return eager_; }

  // Sends a packet of at most kSmallPacketBytes.
  void send(Link& link, const void* packet, std::size_t length, const Account& account);
  // Sends it by every rail.
  void send_on_every_rail(Link& link, const void* packet, std::size_t length,
                          const Account& account);
  std::size_t rails() const { return rails_.size(); }
  // Sends a packet and the payload that follows it.
  void send(Link& link, const void* packet, std::size_t length, Payload payload,
            const Account& account);
  // Whether the payload may lie in the caller's memory.
  bool seals() const { return seals_; }
  // Breaks the seals of payloads from the caller's memory that are not finished. No peer shows a
  // payload that is read from now on.
  void break_seals(const Unsent& account);
  // Writes into the peer's copy of the source's segment, as soon as that is known.
  void write(Link& link, Payload payload, WriteMark mark, const Account& account);
  // Whether peers may deliver: write into the caller's output.
  bool delivers() const { return delivers_; }
  // Writes the payload into the peer's output with this key and sends its packet after it. Nothing,
  // if `barred` or the link is broken.
  void deliver(Link& link, const MessagePacket& packet, Payload payload, std::uint64_t key,
               WriteMark mark, const Account& account, const std::atomic<bool>& barred);
  bool broken(const Link& link) const;
  // Breaks the link: nothing of what the peer of these names sends is written anywhere any more.
  // Others of its host that have dialled this port may be cut off as well. False: what had arrived
  // could not be read within a second.
  bool cut(Link& link, const std::vector<std::string>& names);
  // Where the peer's copy of a segment is; what waited for it goes.
  void grant(Link& link, std::uint32_t segment, const Target& target);
  void forget(Link& link, std::uint32_t segment);

  // How many packets and writes were ever sent to the peer, on their way or not.
  std::uint64_t sent(const Link& link) const;
  // The same, once all of it is on its way; -1: some is not.
  std::int64_t settled(Link& link);

  // Takes what has arrived, sends on what could not go. poke() leaves it to a thread that is
  // already doing it. It also counts as a sign that somebody polls.
  void progress();
  void poke();
  // Of receives.
  void give_back(Op* op) override;
  std::uint64_t pokes() const { return pokes_.load(std::memory_order_relaxed); }

  // Descriptors of which one becomes readable when progress() has something to do; none: the
  // provider has no such.
  const std::vector<int>& wait_descriptors() const { return wait_descriptors_; }
  // Asked just before waiting for them. False: there is something to do.
  bool may_wait();

  // Whether memory that is sent from must be registered, too.
  bool registers_sources() const { return rails_.front()->registers_sources(); }

 private:
  friend class Registration;
  // Holds the port's lock.
  class Locked {
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

  Port(const Provider& provider, std::shared_ptr<Receiver> receiver);
  void send_small(Link& link, std::size_t rail, const void* packet, std::size_t length,
                  const Account& account);
  void submit_packet(Link& link, std::size_t rail, const void* packet, std::size_t length,
                     Payload payload, const Account& account);
  void submit(Link& link, Op* op, Payload payload, const Account& account);
  void finish(Op* op);
  long issue(Op* op);
  void flush(Link& link);
  bool flush(Link& link, RailQueue& queue);
  void break_link(Link& link, const std::string& why);
  void progress_locked();
  bool read_completions(Rail& rail);
  void read_error(Rail& rail);
  void complete(Rail& rail, const fi_cq_data_entry& entry);

  const std::shared_ptr<Receiver> receiver_;
  const ForkMark mark_;
  const std::size_t eager_;
  const bool seals_, delivers_;
  std::vector<int> wait_descriptors_;
  std::atomic<std::uint64_t> pokes_{0};

  mutable std::mutex mutex_;  // guards what follows, except the number of rails
  std::vector<std::unique_ptr<Rail>> rails_;
  std::deque<Link> links_;
  std::set<Link*> waiting_;  // links with something pending
  // Not needed any more; given up once the lock is, since they may need it for that.
  std::vector<std::shared_ptr<const Source>> done_with_;
};

}  // namespace weft::ofi
