// A fabric that does as the in-process one, for tests that change a part of it.
#pragma once

#include "fabric/inprocess/inprocess_fabric.h"

namespace weft::testing {

class InnerFabric : public Fabric {
 public:
  std::string_view name() const override { return "test"; }
  bool inherited() const override { return inner_->inherited(); }
  std::string address() const override { return inner_->address(); }
  std::string obstacle(const std::string& address) const override {
    return inner_->obstacle(address);
  }
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override {
    return inner_->open(addresses, me, deadline);
  }
  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override {
    return inner_->allocate(bytes, use);
  }
  void release(const SymmetricBlock& block) override { inner_->release(block); }
  Location locate(const void* data, std::size_t bytes) const override {
    return inner_->locate(data, bytes);
  }
  bool isolate(void* data, std::size_t bytes) override { return inner_->isolate(data, bytes); }
  std::uint32_t announce() override { return inner_->announce(); }
  void sleep(std::uint32_t announced) override { inner_->sleep(announced); }
  void retire() override { inner_->retire(); }
  void ring() override { inner_->ring(); }
  void expect_crowd() override { inner_->expect_crowd(); }

 private:
  const std::shared_ptr<Fabric> inner_ = make_inprocess_fabric();
};

}  // namespace weft::testing
