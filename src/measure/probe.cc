#include "measure/probe.h"

#include <charconv>

#include "comm/rendezvous.h"
#include "weft/error.h"

namespace weft::measuring {
namespace {

constexpr std::size_t kWords = 1024;  // bytes that a rank tells the others at a time
constexpr int kLook = 1 << 12;        // spins between two looks at clock and peers

}  // namespace

Probe::Probe(Communicator& communicator, std::size_t bytes)
    : communicator_(communicator),
      sent_(static_cast<std::size_t>(communicator.size())),
      taken_(sent_.size()) {
  Fabric& fabric = *communicator.fabric();
  const auto deadline = Clock::now() + communicator.timeout();
  const auto all = [this](const std::string&, const std::string& mine, bool) {
    return exchange(mine);
  };
  endpoint_ = std::move(
      open_endpoints(fabric, 1, exchange(fabric.address()), rank(), all, deadline).front());
  block_ = fabric.allocate(bytes);
  for (const std::string& word : exchange(std::to_string(block_.where.bits))) {
    Location where;
    std::from_chars(word.data(), word.data() + word.size(), where.bits);
    const int peer = static_cast<int>(reached_.size());
    reached_.push_back(peer == rank() ? block_.data : endpoint_->reach(peer, where, bytes));
  }
}

Probe::~Probe() { communicator_.fabric()->release(block_); }

std::vector<std::string> Probe::exchange(const std::string& mine) {
  if (mine.size() >= kWords) throw InternalError("a word of " + std::to_string(mine.size()));
  std::string own(mine), all(kWords * sent_.size(), '\0');
  own.resize(kWords);
  communicator_.allgather(own.data(), all.data(), kWords, DType::kU8);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at += kWords) words.emplace_back(all.c_str() + at);
  return words;
}

double Probe::sum(double mine) {
  communicator_.allreduce(&mine, &mine, 1, DType::kF64, ReduceOp::kSum);
  return mine;
}

void Probe::send(int peer) { send(peer, 0, 0); }

void Probe::send(int peer, std::size_t offset, std::size_t bytes) {
  if (peer == rank()) return;
  Reader reader{.peer = peer, .number = sent_[static_cast<std::size_t>(peer)]++};
  Slot slot{block_.data + offset, block_.where + offset, true};
  endpoint_->post({.readers = {&reader, 1}, .source = slot.data, .bytes = bytes, .slot = &slot});
}

void Probe::wait(int peer) {
  if (peer == rank()) return;
  const std::uint64_t number = taken_[static_cast<std::size_t>(peer)]++;
  spin(peer, [&] { return endpoint_->arrival(peer, 0, number) != nullptr; });
}

void Probe::credit(int peer) {
  if (peer == rank()) return;
  endpoint_->credit(peer, 0, taken_[static_cast<std::size_t>(peer)]);
}

void Probe::meet() {
  for (int step = 1; step < size(); step *= 2) {
    send((rank() + step) % size());
    take((rank() + size() - step) % size());
  }
}

void Probe::await_taken(int peer, std::uint64_t most) {
  const std::uint64_t sent = sent_[static_cast<std::size_t>(peer)];
  if (sent > most) spin(peer, [&] { return endpoint_->credited(peer, 0, sent - most); });
}

void Probe::spin(int peer, const std::function<bool()>& ready) {
  const auto deadline = Clock::now() + communicator_.timeout();
  for (int spins = 1; !ready(); ++spins) {
    if (spins % kLook) continue;
    if (endpoint_->troubled())
      if (const std::string lost = endpoint_->lost(peer); !lost.empty())
        throw PeerLost("rank " + std::to_string(peer) + ": " + lost);
    if (Clock::now() > deadline)
      throw Timeout("rank " + std::to_string(peer) + " does not take part in the measurement");
  }
}

}  // namespace weft::measuring
