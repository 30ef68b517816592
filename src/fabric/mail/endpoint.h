// The contract (fabric.h) over a Lane. All payloads go by the slot.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/mail/native_lane.h"
#include "fabric/mail/site.h"
#include "fabric/process.h"

namespace weft::mail {

class MailEndpoint final : public Endpoint {
 public:
  // `processes`: of the members, for messages to people. `native`: null where the library has no
  // collectives for such a lane.
  MailEndpoint(std::shared_ptr<Site> site, std::vector<int> ranks, int me,
               std::vector<std::string> processes, std::unique_ptr<NativeLane> native);
  ~MailEndpoint() override;

  std::string ticket() const override;
  void connect(const std::vector<std::string>& tickets, Clock::time_point deadline) override;

  void post(const Outgoing& out) override;
  bool settled(int peer, int channel, std::uint64_t number, std::size_t bytes) override;
  bool credited(int peer, int channel, std::uint64_t total) override;
  const Header* arrival(int peer, int channel, std::uint64_t number) override;
  Delivery payload(int peer, int channel, std::uint64_t number, const Buffers& mine) override;
  void credit(int peer, int channel, std::uint64_t total) override;
  void begin(std::uint64_t sequence, std::span<std::byte> written) override;
  int end(Outcome outcome) override;

  bool troubled() const override;
  std::string why_aborted() const override;
  std::string lost(int peer) override;
  void abort(const std::string& why) override;
  PeerState about(int peer) const override;
  std::optional<std::uint64_t> last_begun(int peer) override;

  const NativeLane* native() const { return native_.get(); }

 private:
  std::unique_lock<std::mutex> enter() const;
  void finish_connecting(bool together);
  bool has_joined(std::size_t place, Clock::time_point deadline);
  void receive(int peer);
  void look_at_all_now_and_then();
  void notice();

  const ForkMark mark_;
  const std::shared_ptr<Site> site_;
  const std::vector<int> ranks_;
  const std::vector<std::string> processes_;
  std::shared_ptr<Lane> lane_;  // never null before the end
  const std::unique_ptr<NativeLane> native_;
  std::atomic<bool> troubled_{false};
  unsigned looks_ = 0;
};

}  // namespace weft::mail
