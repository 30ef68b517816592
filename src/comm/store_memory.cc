#include <condition_variable>
#include <map>
#include <mutex>

#include "weft/error.h"
#include "weft/store.h"

namespace weft {
namespace {

class MemoryStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    {
      std::lock_guard lock(mutex_);
      if (!values_.emplace(key, value).second) {
        throw InvalidArgument("store: key \"" + key + "\" was set before; a key is set once");
      }
    }
    changed_.notify_all();
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return values_.contains(key); })) {
      throw Timeout("store: key \"" + key + "\" was not set within " +
                    std::to_string(timeout.count()) + " ms; has every rank been started?");
    }
    return values_.at(key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::shared_ptr<Store> memory_store() { return std::make_shared<MemoryStore>(); }

}  // namespace weft
