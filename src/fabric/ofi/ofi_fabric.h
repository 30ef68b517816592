// The fabric of one rank over libfabric: Ethernet, InfiniBand, Omni-Path, EFA, Slingshot.
//
//   net/      libfabric itself     Port: packets, remote writes; Driver: a thread that drives it
//                                  where nobody else does
//   session/  peers, beside data   Server: what they ask for and say; Remote: one peer's
//                                  connection, link and life
//   lane/     OfiEndpoint          one lane: messages, payloads, how it ends
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/far_fabric.h"
#include "fabric/ofi/lane/endpoint.h"
#include "fabric/ofi/net/doorkeeper.h"
#include "fabric/ofi/net/driver.h"
#include "fabric/ofi/session/address.h"
#include "fabric/ofi/session/server.h"
#include "fabric/process.h"
#include "fabric/remotes.h"
#include "fabric/segments.h"
#include "fabric/watcher.h"

namespace weft::ofi {

class OfiFabric final : public FarFabric {
 public:
  // Throws Unsupported saying what the system or libfabric refuses.
  explicit OfiFabric(const Provider& provider);
  // Peers see that this rank left. Waits, at most a second, until they have what it sent.
  ~OfiFabric() override;

  std::string_view name() const override { return "ofi"; }
  bool inherited() const override { return mark_.forked(); }
  int rails() const override { return static_cast<int>(parts_.port->rails()); }
  std::string address() const override;
  std::string obstacle(const std::string& address) const override;
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override;

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;
  Location locate(const void* data, std::size_t bytes) const override;
  bool isolate(void*, std::size_t) override { return true; }  // nobody else maps it

  void adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) override;
  void disown(const SymmetricBlock& block) override;
  void forward_rings(std::function<void()> instead) override;

  std::uint32_t announce() override;
  void sleep(std::uint32_t announced) override;
  void retire() override;
  void ring() override;
  void expect_crowd() override;

 private:
  std::shared_ptr<Remote> remote(const Address& address);
  void say_goodbye();

  const ForkMark mark_;
  const Token token_;
  const Secret secret_;
  const std::shared_ptr<Segments> segments_;
  const Parts parts_;
  Address address_;
  const std::shared_ptr<Watcher> watcher_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Doorkeeper> doorkeeper_;
  std::unique_ptr<Driver> driver_;
  Remotes<Remote> remotes_;
};

}  // namespace weft::ofi
