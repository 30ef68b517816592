// The sessions that a fabric has begun, one for each peer.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/process.h"
#include "fabric/token.h"

namespace weft {

// `Remote` has is_lost(). Thread safe.
template <typename Remote>
class Remotes {
 public:
  // The peer's; begun by make() where there is none. A lost peer is kept only as long as one of its
  // lanes.
  template <typename Make>
  std::shared_ptr<Remote> get(const Token& token, Make&& make) {
    NoFork no_fork;
    std::lock_guard lock(mutex_);
    std::erase_if(remotes_, [](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->is_lost();
    });
    if (const auto found = remotes_.find(token); found != remotes_.end()) return found->second;
    return remotes_.emplace(token, make()).first->second;
  }

  // Null if there is none.
  std::shared_ptr<Remote> find(const Token& token) {
    std::lock_guard lock(mutex_);
    const auto found = remotes_.find(token);
    return found == remotes_.end() ? nullptr : found->second;
  }

  std::vector<std::shared_ptr<Remote>> all() {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Remote>> all;
    for (const auto& [token, remote] : remotes_) all.push_back(remote);
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<Token, std::shared_ptr<Remote>> remotes_;
};

}  // namespace weft
