// The fabric of one rank over shared memory: its segments, its watcher, its connections.
//
//   ShmFabric ── Segments    what it lends              (segments.h, mapping.h)
//             ── Watcher ──┬ Server   answers peers      (server.h)
//                          └ Remote   asks one peer      (remote.h)
//             ── ShmEndpoint, one a lane                 (endpoint.h, reached.h)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/process.h"
#include "fabric/remotes.h"
#include "fabric/segments.h"
#include "fabric/shm/address.h"
#include "fabric/shm/layout.h"
#include "fabric/shm/remote.h"
#include "fabric/shm/server.h"
#include "fabric/watcher.h"

namespace weft::shm {

class ShmFabric final : public Fabric {
 public:
  // `node`: like WEFT_NODE, unless empty. Throws Unsupported saying what the system refuses.
  explicit ShmFabric(const std::string& node = {});
  // Peers see that this rank left. Never waits for a peer.
  ~ShmFabric() override;

  std::string_view name() const override { return "shm"; }
  bool lends() const override;
  bool inherited() const override { return mark_.forked(); }
  std::string address() const override;
  std::string obstacle(const std::string& address) const override;
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override;

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;
  Location locate(const void* data, std::size_t bytes) const override;
  bool isolate(void* data, std::size_t bytes) override { return segments_->isolate(data, bytes); }

  std::uint32_t announce() override;
  void sleep(std::uint32_t announced) override;
  void retire() override;
  void ring() override;
  void expect_crowd() override { weft::expect_crowd(doorbell()); }

 private:
  std::shared_ptr<Remote> remote(const Address& address);
  Doorbell& doorbell() const { return *reinterpret_cast<Doorbell*>(doorbell_->data()); }

  const ForkMark mark_;
  const Token token_;
  const Address address_;
  const std::shared_ptr<Segments> segments_;
  const std::shared_ptr<Mapping> doorbell_;
  const std::shared_ptr<Watcher> watcher_;
  std::unique_ptr<Server> server_;
  Remotes<Remote> remotes_;
};

}  // namespace weft::shm
