#include "comm/mpi_store.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/duration_text.h"
#include "comm/rendezvous.h"
#include "fabric/mpi/library.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr int kTag = 0;
constexpr auto kLookEvery = std::chrono::microseconds(50);
constexpr auto kInterruptEvery = std::chrono::milliseconds(20);

}  // namespace

MpiStore::MpiStore(const mpi::Mpi& mpi, mpi::Comm comm, std::function<void()> interrupt)
    : mpi_(mpi), comm_(comm), interrupt_(std::move(interrupt)) {
  const std::lock_guard lock(mpi::library_mutex());
  mpi.return_errors(comm);
  rank_ = mpi.rank(comm);
  size_ = mpi.size(comm);
  for (int i = 0; i < size_; ++i) incoming_.push_back(std::make_unique<Incoming>());
}

MpiStore::~MpiStore() {
  for (auto& one : outgoing_) (void)one.release();
  for (auto& one : incoming_)
    if (one->request) (void)one.release();
}

void MpiStore::set(const std::string& key, const std::string& value) {
  values_[key] = value;
  auto sent = std::make_unique<Outgoing>(Outgoing{join_words({key, value}), {}});
  const std::lock_guard lock(mpi::library_mutex());
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_)
      sent->requests.push_back(mpi_.isend(sent->text.data(), sent->text.size(), peer, kTag, comm_));
  outgoing_.push_back(std::move(sent));
}

std::string MpiStore::get(const std::string& key, std::chrono::milliseconds timeout) {
  const auto began = std::chrono::steady_clock::now();
  auto asked = began;
  for (;;) {
    look();
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    const auto now = std::chrono::steady_clock::now();
    if (now - began > timeout)
      throw Timeout("store: key \"" + key + "\" was not set within " + duration_text(timeout));
    if (interrupt_ && now - asked > kInterruptEvery) interrupt_(), asked = now;
    std::this_thread::sleep_for(kLookEvery);
  }
}

void MpiStore::look() {
  const std::lock_guard lock(mpi::library_mutex());
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) look(peer);
  std::erase_if(outgoing_, [&](auto& sent) {
    std::erase_if(sent->requests, [&](mpi::Request& request) { return mpi_.test(request); });
    return sent->requests.empty();
  });
}

// One after the other, in the order sent.
void MpiStore::look(int peer) {
  Incoming& from = *incoming_[static_cast<std::size_t>(peer)];
  if (!from.request) {
    mpi::Status status;
    if (!mpi_.iprobe(peer, kTag, comm_, status)) return;
    from.text.resize(status.bytes);
    from.request = mpi_.irecv(from.text.data(), status.bytes, peer, kTag, comm_);
  }
  if (!mpi_.test(from.request)) return;
  std::vector<std::string> words = split_words(from.text, 2);
  values_[words[0]] = std::move(words[1]);
}

void MpiStore::close() {
  while (!outgoing_.empty()) {
    look();
    std::this_thread::yield();
  }
  const std::lock_guard lock(mpi::library_mutex());
  mpi_.free(comm_);
}

}  // namespace weft
