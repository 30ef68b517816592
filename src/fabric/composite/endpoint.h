// One lane over two fabrics: each pair of members over one of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.h"

namespace weft::composite {

class CompositeEndpoint final : public Endpoint {
 public:
  // `is_near`: by member, whether it is on the near lane.
  CompositeEndpoint(std::unique_ptr<Endpoint> near, std::unique_ptr<Endpoint> far,
                    std::vector<bool> is_near);

  std::string ticket() const override;
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override;

  void prepare(Outgoing& out) override {
    for_each_reader(out, [](Endpoint& lane, Outgoing& part) { lane.prepare(part); });
  }
  bool takes_late() const override { return near_->takes_late() || far_->takes_late(); }
  void post(const Outgoing& out) override {
    for_each_reader(out, [](Endpoint& lane, const Outgoing& part) { lane.post(part); });
  }
  bool settled(int peer, int channel, std::uint64_t number, std::size_t bytes) override {
    return to(peer).settled(peer, channel, number, bytes);
  }
  bool credited(int peer, int channel, std::uint64_t total) override {
    return to(peer).credited(peer, channel, total);
  }
  const Header* arrival(int peer, int channel, std::uint64_t number) override {
    return to(peer).arrival(peer, channel, number);
  }
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) override {
    return to(peer).payload(peer, channel, number, mine);
  }
  void credit(int peer, int channel, std::uint64_t total) override {
    to(peer).credit(peer, channel, total);
  }

  bool recall() override {
    const bool near = near_->recall();
    return far_->recall() && near;
  }

  void begin(std::uint64_t sequence, std::span<std::byte> written) override;
  int end(Outcome outcome) override;
  std::byte* reach(int peer, Location where, std::size_t bytes) override {
    return to(peer).reach(peer, where, bytes);
  }
  void nudge(int peer) override { to(peer).nudge(peer); }

  bool troubled() const override { return near_->troubled() || far_->troubled(); }
  std::string why_aborted() const override;
  std::string lost(int peer) override { return to(peer).lost(peer); }
  void abort(const std::string& why) override;
  PeerState about(int peer) const override { return to(peer).about(peer); }
  std::optional<std::uint64_t> last_begun(int peer) override { return to(peer).last_begun(peer); }

 private:
  Endpoint& to(int peer) const { return *by_peer_[static_cast<std::size_t>(peer)]; }

  // Both lanes share the slot: whichever fills it first does so for all.
  template <typename Each>
  void for_each_reader(const Outgoing& out, Each each) const {
    Outgoing part = out;
    for (std::size_t i = 0; i < out.readers.size(); ++i) {
      part.readers = out.readers.subspan(i, 1);
      each(to(part.readers[0].peer), part);
    }
  }

  const std::unique_ptr<Endpoint> near_, far_;
  std::vector<Endpoint*> by_peer_;
};

}  // namespace weft::composite
