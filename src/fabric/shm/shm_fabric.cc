#include "fabric/shm/shm_fabric.h"

#include "base/membarrier.h"
#include "fabric/doorbell.h"
#include "fabric/members.h"
#include "fabric/shm/endpoint.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

// The first segment that a fabric makes holds its doorbell.
std::shared_ptr<Mapping> make_doorbell(Segments& segments) {
  segments.allocate(sizeof(Doorbell), MemoryUse::kInternal);
  return segments.find(kDoorbellSegment)->mapping;
}

}  // namespace

ShmFabric::ShmFabric(const std::string& node)
    : token_(Token::random()),
      address_(Address::own(token_, node)),
      segments_(std::make_shared<Segments>()),
      doorbell_(make_doorbell(*segments_)),
      watcher_(std::make_shared<Watcher>()),
      server_(std::make_unique<Server>(token_, segments_, *watcher_)) {
  register_heavy_fence();  // if there is none, sleepers look every millisecond
  enrol_local(token_, segments_);
}

ShmFabric::~ShmFabric() {
  if (mark_.forked()) return;
  withdraw_local(token_);
  watcher_->stop();
  server_->goodbye();
}

std::string ShmFabric::address() const {
  mark_.check();
  return address_.text();
}

std::string ShmFabric::obstacle(const std::string& address) const {
  return address_.obstacle(Address::parse(address));
}

std::shared_ptr<Remote> ShmFabric::remote(const Address& address) {
  return remotes_.get(address.token, [&] {
    return std::make_shared<Remote>(address, token_, watcher_, doorbell_);
  });
}

std::unique_ptr<Endpoint> ShmFabric::open(const std::vector<std::string>& addresses, int me,
                                          Clock::time_point deadline) {
  mark_.check();
  const Clock::duration patience = deadline - Clock::now();
  const std::vector<Address> members = parse_members(name(), address_, addresses, me);
  std::vector<std::shared_ptr<Remote>> remotes(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (static_cast<int>(i) == me || addresses[i].empty()) continue;
    remotes[i] = remote(members[i]);
    naming(i, [&] { remotes[i]->dial(deadline); });
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!remotes[i]) continue;
    naming(i, [&] { remotes[i]->segment(kDoorbellSegment, deadline); });
  }
  return std::make_unique<ShmEndpoint>(segments_, doorbell_, remotes, me, patience);
}

// Without a heavy fence a recall would take milliseconds.
bool ShmFabric::lends() const { return register_heavy_fence(); }

SymmetricBlock ShmFabric::allocate(std::size_t bytes, MemoryUse use) {
  mark_.check();
  return segments_->allocate(bytes, use);
}

void ShmFabric::release(const SymmetricBlock& block) {
  // In a forked child the memory is the parent's still.
  if (!mark_.forked()) segments_->release(block);
}

[[gnu::hot]] Location ShmFabric::locate(const void* data, std::size_t bytes) const {
  return segments_->locate(data, bytes);
}

std::uint32_t ShmFabric::announce() {
  mark_.check();
  return weft::announce(doorbell());
}

void ShmFabric::sleep(std::uint32_t announced) { weft::sleep(doorbell(), announced); }

void ShmFabric::retire() { weft::retire(doorbell()); }

void ShmFabric::ring() {
  mark_.check();
  weft::ring(doorbell());
}

}  // namespace weft::shm
