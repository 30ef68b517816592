#include "store.h"

#include <c10/util/Exception.h>

#include <string>
#include <utility>

#include "weft/error.h"

namespace weft::torch_adapter {

namespace {

class TorchStore final : public Store {
 public:
  TorchStore(c10::intrusive_ptr<c10d::Store> store, const std::string& prefix)
      : store_(std::move(store)), prefix_(prefix) {}

  void set(const std::string& key, const std::string& value) override {
    store_->set(prefix_ + key, value);
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    const std::string full = prefix_ + key;
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    try {
      store_->wait({full}, timeout);
      return store_->get_to_str(full);
    } catch (const c10::Error& error) {
      // Stores have no type of their own for "not yet": each reports it in another way.
      // Some end a wait a little early.
      constexpr std::chrono::milliseconds kEarly(20);
      if (std::chrono::steady_clock::now() + kEarly >= deadline)
        throw Timeout("the rendezvous store has no \"" + full + "\" after " +
                      std::to_string(timeout.count()) + " ms");
      throw Error(std::string("the rendezvous store failed: ") + error.what_without_backtrace());
    }
  }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string prefix_;
};

}  // namespace

std::shared_ptr<Store> make_store(c10::intrusive_ptr<c10d::Store> store, int rank,
                                  const std::string& name) {
  const std::string place = "weft" + name + "/";
  const auto times = store->add(place + "times/" + std::to_string(rank), 1);
  return std::make_shared<TorchStore>(std::move(store), place + std::to_string(times) + "/");
}

}  // namespace weft::torch_adapter
