#include "fabric/ofi/ofi_fabric.h"

#include <unistd.h>

#include "base/host.h"
#include "base/membarrier.h"
#include "fabric/location.h"
#include "fabric/members.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

constexpr std::chrono::seconds kGoodbye(1);

Parts make_parts(const Provider& provider) {
  const auto bell = std::make_shared<Bell>();
  const auto lanes = std::make_shared<Lanes>(bell);
  const auto port = Port::make(provider, lanes);
  return {bell, lanes, port, std::make_shared<Sources>(port)};
}

Address own_address(const Token& token, const Provider& provider, const Port& port,
                    const LiveFd& listener) {
  std::string host = host_identity().name;
  for (char& c : host) {
    if (c <= ' ' || c > '~') c = '_';
  }
  return {kWireVersion,
          token,
          ::getpid(),
          host.empty() ? "-" : host.substr(0, 255),
          provider.name,
          provider.rails.front().interface.address,
          port_of(listener.get()),
          port.names()};
}

}  // namespace

OfiFabric::OfiFabric(const Provider& provider)
    : token_(Token::random()),
      secret_(Secret::from_environment()),
      segments_(std::make_shared<Segments>()),
      parts_(make_parts(provider)),
      watcher_(std::make_shared<Watcher>()) {
  register_heavy_fence();  // if there is none, sleepers look every millisecond
  LiveFd listener = listen_at(provider.rails.front().interface.address);
  address_ = own_address(token_, provider, *parts_.port, listener);
  const auto find = [this](const Token& token) { return remotes_.find(token); };
  server_ =
      std::make_unique<Server>(token_, secret_, std::move(listener), parts_.lanes, find, *watcher_);
  doorkeeper_ = std::make_unique<Doorkeeper>(parts_.port->names(), *watcher_);
  driver_ = std::make_unique<Driver>(parts_.port);
  enrol_local(token_, segments_);
}

OfiFabric::~OfiFabric() {
  if (mark_.forked()) return;
  withdraw_local(token_);
  say_goodbye();
  watcher_->stop();
  driver_.reset();
}

void OfiFabric::say_goodbye() {
  const auto deadline = Clock::now() + kGoodbye;
  const auto peers = remotes_.all();
  for (const auto& peer : peers) peer->say_bye(deadline);
  for (const auto& peer : peers) peer->await_done(deadline);
  // A write of the other peers may have arrived in part.
  for (const auto& peer : peers) {
    if (!peer->is_settled() && !peer->cut_off()) return Port::abandon(parts_.port);
  }
}

std::string OfiFabric::address() const {
  mark_.check();
  return address_.text();
}

std::string OfiFabric::obstacle(const std::string& address) const {
  return address_.obstacle(Address::parse(address));
}

std::shared_ptr<Remote> OfiFabric::remote(const Address& address) {
  return remotes_.get(address.token, [&] {
    return std::make_shared<Remote>(address, token_, secret_, parts_.port, watcher_, parts_.bell);
  });
}

std::unique_ptr<Endpoint> OfiFabric::open(const std::vector<std::string>& addresses, int me,
                                          Clock::time_point deadline) {
  mark_.check();
  const std::vector<Address> members = parse_members(name(), address_, addresses, me);
  std::vector<std::shared_ptr<Remote>> remotes(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (static_cast<int>(i) == me || addresses[i].empty()) continue;
    remotes[i] = remote(members[i]);
    naming(i, [&] { remotes[i]->dial(deadline); });
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (remotes[i]) naming(i, [&] { remotes[i]->await_welcome(deadline); });
  }
  return std::make_unique<OfiEndpoint>(parts_, remotes, me);
}

SymmetricBlock OfiFabric::allocate(std::size_t bytes, MemoryUse use) {
  mark_.check();
  const SymmetricBlock block = segments_->allocate(bytes, use);
  // The mapping outlives the release, if something is still being sent from it.
  adopt(block, segments_->find(segment_of(block.where))->mapping);
  return block;
}

void OfiFabric::release(const SymmetricBlock& block) {
  // In a forked child the memory is the parent's still.
  if (mark_.forked()) return;
  disown(block);
  segments_->release(block);
}

Location OfiFabric::locate(const void* data, std::size_t bytes) const {
  return segments_->locate(data, bytes);
}

void OfiFabric::adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) {
  mark_.check();
  parts_.sources->adopt(block, std::move(memory));
}

void OfiFabric::disown(const SymmetricBlock& block) {
  if (mark_.forked()) return;
  parts_.sources->drop(block);
  for (const auto& peer : remotes_.all()) {
    parts_.port->forget(peer->link(), segment_of(block.where));
    peer->tell(Kind::kGone, segment_of(block.where));
  }
}

void OfiFabric::forward_rings(std::function<void()> instead) {
  parts_.bell->forward(std::move(instead));
}

std::uint32_t OfiFabric::announce() {
  mark_.check();
  driver_->enter_sleep();
  return parts_.bell->announce();
}

void OfiFabric::sleep(std::uint32_t announced) {
  parts_.bell->sleep(announced);
  driver_->leave_sleep();
}

void OfiFabric::retire() {
  parts_.bell->retire();
  driver_->leave_sleep();
}

void OfiFabric::ring() {
  mark_.check();
  parts_.bell->ring();
}

void OfiFabric::expect_crowd() { parts_.bell->expect_crowd(); }

}  // namespace weft::ofi
