// Two fabrics as one: the near one for pairs that share memory, the far one for all others.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/far_fabric.h"

namespace weft::composite {

// Symmetric memory is the near fabric's, and the far one sends from it.
class CompositeFabric final : public Fabric {
 public:
  CompositeFabric(std::shared_ptr<Fabric> near, std::shared_ptr<FarFabric> far);

  std::string_view name() const override { return name_; }
  bool inherited() const override { return near_->inherited(); }
  int rails() const override { return far_->rails(); }
  bool lends() const override { return near_->lends(); }
  std::string address() const override;
  std::string obstacle(const std::string& address) const override;
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override;

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;
  Location locate(const void* data, std::size_t bytes) const override;
  bool isolate(void* data, std::size_t bytes) override { return near_->isolate(data, bytes); }

  // Threads sleep at the near fabric's doorbell, which also rings when the far one's does.
  std::uint32_t announce() override;
  void sleep(std::uint32_t announced) override;
  void retire() override;
  void ring() override;
  void expect_crowd() override;

 private:
  const std::shared_ptr<Fabric> near_;
  const std::shared_ptr<FarFabric> far_;
  const std::string name_;
};

}  // namespace weft::composite
