#include "python_store.h"

#include <string>

#include "weft/error.h"

namespace {

class PythonStore : public weft::Store {
 public:
  explicit PythonStore(nb::object store) : store_(std::move(store)) {}

  ~PythonStore() override {
    nb::gil_scoped_acquire acquire;
    store_.reset();
  }

  void set(const std::string& key, const std::string& value) override {
    nb::gil_scoped_acquire acquire;
    store_.attr("set")(key.c_str(), nb::bytes(value.data(), value.size()));
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    nb::gil_scoped_acquire acquire;
    try {
      const double seconds = static_cast<double>(timeout.count()) / 1000.0;
      nb::bytes value(store_.attr("get")(key.c_str(), seconds));
      return {value.c_str(), value.size()};
    } catch (const nb::python_error& error) {
      // The core must know it as its own to say which ranks did not come.
      if (error.matches(PyExc_TimeoutError)) throw weft::Timeout(nb::str(error.value()).c_str());
      throw;
    }
  }

 private:
  nb::object store_;
};

// Waits in slices, so that Ctrl-C ends the wait for ranks that do not come.
class InterruptibleStore : public weft::Store {
 public:
  explicit InterruptibleStore(std::shared_ptr<weft::Store> store) : store_(std::move(store)) {}

  void set(const std::string& key, const std::string& value) override { store_->set(key, value); }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      const bool last = left <= kSlice;
      try {
        return store_->get(key, last ? left : kSlice);
      } catch (const weft::Timeout&) {
        if (last) throw;
      }
      nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

 private:
  static constexpr std::chrono::milliseconds kSlice{100};
  std::shared_ptr<weft::Store> store_;
};

}  // namespace

std::shared_ptr<weft::Store> store_of(nb::object store) {
  if (nb::isinstance<nb::tuple>(store))
    return std::make_shared<InterruptibleStore>(
        weft::file_store(nb::str(store[0]).c_str(), nb::str(store[1]).c_str()));
  for (const char* method : {"set", "get"})
    if (!nb::hasattr(store, method))
      throw weft::InvalidArgument(std::string("the rendezvous has no method ") + method +
                                  ": pass a directory, or an object with set(key, value) and "
                                  "get(key, seconds)");
  return std::make_shared<PythonStore>(std::move(store));
}
