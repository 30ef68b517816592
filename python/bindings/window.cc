// weft/window.h: windows, and their memory as NumPy arrays.
#include "weft/window.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "array.h"
#include "bindings.h"
#include "call.h"
#include "gil.h"
#include "weft/error.h"

namespace {

using Bytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using Sources = Graveyard<Array>;

// The memory lives as long as an array of it, also once the window is closed.
class PyWindow {
 public:
  PyWindow(nb::handle comm, std::size_t bytes, int signals) {
    const auto over = communicator_of(comm);
    nb::gil_scoped_release release;
    window_ = weft::Window::create(*over, bytes, signals);
  }
  ~PyWindow() { close(); }

  weft::Window& window() { return *window_; }

  void put(nb::handle data, int target, std::size_t offset, std::optional<int> signal,
           std::uint64_t value, const std::string& op) {
    Sources::clear();
    const std::string who = "rank " + std::to_string(window_->rank()) + ": put: data";
    const auto source = Sources::share(Array::input(data, who));
    const std::size_t bytes = source->count() * weft::size_of(source->dtype());
    std::optional<weft::SignalUpdate> update;
    if (signal) update = {*signal, value, op_of(op)};
    nb::gil_scoped_release release;
    window_->put(source->data(), bytes, target, offset, update, [kept = source] {});
  }
  void signal(int target, int signal, std::uint64_t value, const std::string& op) {
    const weft::SignalUpdate update{signal, value, op_of(op)};
    nb::gil_scoped_release release;
    window_->signal(target, update);
  }
  void quiet(double timeout) {
    {
      nb::gil_scoped_release release;
      window_->quiet(milliseconds(timeout));
    }
    Sources::clear();
  }
  // As an array of bytes; None: a peer's memory that is not reached.
  std::optional<Bytes> memory(int rank) {
    std::byte* const data = window_->peer_data(rank);
    if (!data) return std::nullopt;
    nb::capsule owner(new std::shared_ptr<weft::Window>(window_), [](void* held) noexcept {
      nb::gil_scoped_release release;
      delete static_cast<std::shared_ptr<weft::Window>*>(held);
    });
    return Bytes(data, {window_->bytes(rank)}, owner);
  }
  void close() {
    {
      nb::gil_scoped_release release;
      window_->close();
    }
    Sources::clear();
  }

 private:
  weft::SignalOp op_of(const std::string& op) const {
    if (op == "set") return weft::SignalOp::kSet;
    if (op == "add") return weft::SignalOp::kAdd;
    throw weft::InvalidArgument("rank " + std::to_string(window_->rank()) + ": signal_op is \"" +
                                op + "\": give \"set\" or \"add\"");
  }

  std::shared_ptr<weft::Window> window_;
};

}  // namespace

void bind_window(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<PyWindow>(m, "Window")
      .def(nb::init<nb::handle, std::size_t, int>(), nb::arg("comm"), nb::arg("nbytes"),
           nb::arg("signals"))
      .def_prop_ro("rank", [](PyWindow& self) { return self.window().rank(); })
      .def_prop_ro("size", [](PyWindow& self) { return self.window().size(); })
      .def("nbytes", [](PyWindow& self, int rank) { return self.window().bytes(rank); })
      .def("signals", [](PyWindow& self, int rank) { return self.window().signals(rank); })
      .def("memory", &PyWindow::memory, nb::arg("rank"), nb::rv_policy::reference)
      .def("put", &PyWindow::put, nb::arg("data"), nb::arg("target"), nb::arg("offset"),
           nb::arg("signal").none(), nb::arg("value"), nb::arg("op"))
      .def("signal", &PyWindow::signal, nb::arg("target"), nb::arg("signal"), nb::arg("value"),
           nb::arg("op"))
      .def(
          "wait_signal",
          [](PyWindow& self, int signal, std::uint64_t at_least, double timeout) {
            return self.window().wait_signal(signal, at_least, milliseconds(timeout));
          },
          nb::arg("signal"), nb::arg("at_least"), nb::arg("timeout"), Release())
      .def(
          "wait_some",
          [](PyWindow& self, int first, int count, double timeout) {
            return self.window().wait_some(first, count, milliseconds(timeout));
          },
          nb::arg("first"), nb::arg("count"), nb::arg("timeout"), Release())
      .def("read_signal",
           [](PyWindow& self, int signal) { return self.window().read_signal(signal); })
      .def("fetch_reset",
           [](PyWindow& self, int signal) { return self.window().fetch_reset(signal); })
      .def("quiet", &PyWindow::quiet, nb::arg("timeout"))
      .def("close", &PyWindow::close);
}
