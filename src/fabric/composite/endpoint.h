// One lane over two fabrics: each pair of members over one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"

namespace weft::composite {

class CompositeEndpoint final : public Endpoint {
 public:
  // `is_near`: by member, whether the near lane serves it.
  CompositeEndpoint(std::unique_ptr<Endpoint> near, std::unique_ptr<Endpoint> far,
                    std::vector<bool> is_near);

  std::string ticket() const override;
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override;

  void post(int peer, int channel, std::uint64_t number, const Header& header,
            const void* payload) override {
    to(peer).post(peer, channel, number, header, payload);
  }
  Arrival arrival(int peer, int channel, std::uint64_t number) override {
    return to(peer).arrival(peer, channel, number);
  }
  void credit(int peer, int channel, std::uint64_t total) override {
    to(peer).credit(peer, channel, total);
  }
  bool credited(int peer, int channel, std::uint64_t total) override {
    return to(peer).credited(peer, channel, total);
  }
  bool reusable(int peer, int channel, std::uint64_t number, std::size_t bytes) override {
    return to(peer).reusable(peer, channel, number, bytes);
  }
  bool carries(int peer, std::size_t bytes) const override { return to(peer).carries(peer, bytes); }
  void expose(std::byte* output, std::size_t bytes) override { far_->expose(output, bytes); }
  void conceal() override { far_->conceal(); }
  bool lands(int peer, std::size_t bytes) const override { return to(peer).lands(peer, bytes); }
  // Only the near lane's peers are stored into.
  bool begin_stores() override { return near_->begin_stores(); }
  void end_stores() override { near_->end_stores(); }
  bool recall() override;
  bool loads(int peer) const override { return to(peer).loads(peer); }
  std::byte* reach(int peer, Location where, std::size_t bytes) override {
    return to(peer).reach(peer, where, bytes);
  }
  int unsent() override;

  void entered(std::uint64_t sequence) override;
  std::optional<std::uint64_t> last_entered(int peer) override {
    return to(peer).last_entered(peer);
  }
  std::string whereabouts(int peer) const override { return to(peer).whereabouts(peer); }
  std::string lost(int peer) override { return to(peer).lost(peer); }
  void abort(const std::string& why) override;
  bool troubled() const override { return near_->troubled() || far_->troubled(); }
  std::string why_aborted() const override;

 private:
  Endpoint& to(int peer) const { return *by_peer_[static_cast<std::size_t>(peer)]; }

  const std::unique_ptr<Endpoint> near_, far_;
  std::vector<Endpoint*> by_peer_;
};

}  // namespace weft::composite
