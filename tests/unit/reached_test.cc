// What one lane keeps mapped of a peer's segments.
#include "fabric/shm/reached.h"

#include <gtest/gtest.h>

#include "fabric/doorbell.h"
#include "fabric/watcher.h"
#include "weft/communicator.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

Clock::time_point late() { return Clock::now() + std::chrono::seconds(30); }

// A fabric of this process, and what another one would know of it.
class ReachedTest : public ::testing::Test {
 protected:
  ReachedTest() { remote_->dial(late()); }
  ~ReachedTest() override { watcher_->stop(); }

  SymmetricBlock allocate() { return fabric_->allocate(4096); }
  template <typename Failed>
  std::byte* reach(const SymmetricBlock& block, Failed failed) {
    return reached_.reach(block.where, block.bytes, std::chrono::seconds(30), failed);
  }
  bool is_here(const SymmetricBlock& block) {
    try {
      return remote_->segment(segment_of(block.where), Clock::now()) != nullptr;
    } catch (const Timeout&) {
      return false;
    }
  }

  static inline const std::size_t kPage = whole_pages(sizeof(Doorbell));
  std::shared_ptr<Fabric> fabric_ = make_shm_fabric();
  std::shared_ptr<Watcher> watcher_ = std::make_shared<Watcher>();
  std::shared_ptr<Mapping> doorbell_ = Mapping::of(make_memory(kPage).get(), kPage);
  std::shared_ptr<Remote> remote_ = std::make_shared<Remote>(Address::parse(fabric_->address()),
                                                             Token::random(), watcher_, doorbell_);
  Reached reached_{remote_};
};

TEST_F(ReachedTest, WhatAWorkingPeerReleasedIsDropped) {
  const SymmetricBlock first = allocate(), second = allocate();
  (void)reach(first, [] { return false; });
  const std::weak_ptr<Mapping> mapping = remote_->segment(segment_of(first.where), late());
  fabric_->release(first);
  EXPECT_FALSE(mapping.expired());
  (void)reach(second, [] { return false; });
  EXPECT_TRUE(mapping.expired());
  fabric_->release(second);
}

// The peer fails, and releases, while its answer is awaited: asked before, it would have been well.
TEST_F(ReachedTest, WhatAFailedPeerReleasedStays) {
  const SymmetricBlock first = allocate(), second = allocate();
  const std::byte* const data = reach(first, [] { return false; });
  fabric_->release(first);
  EXPECT_EQ(data[0], std::byte{});
  (void)reach(second, [&] { return is_here(second); });
  EXPECT_EQ(data[0], std::byte{}) << "still mapped";
  EXPECT_EQ(reach(first, [] { return false; }), data);
  fabric_->release(second);
}

}  // namespace
}  // namespace weft::shm
