// The timed loop of `weft bench --api core`: no Python between the operations of a sample.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "bindings.h"
#include "call.h"

namespace {

using Seconds = std::chrono::duration<double>;

// Writes `array` anew by repeating `tile`, from its element `shift` on.
void fill(const Array& array, const Array& tile, std::size_t shift) {
  const std::size_t size = weft::size_of(tile.dtype());
  const std::size_t period = tile.count() * size;
  const auto* from = static_cast<const std::byte*>(tile.data());
  auto* to = static_cast<std::byte*>(array.data());
  std::size_t left = array.count() * size;
  for (std::size_t at = (shift % tile.count()) * size; left > 0; at = 0) {
    const std::size_t bytes = std::min(left, period - at);
    std::memcpy(to, from + at, bytes);
    to += bytes;
    left -= bytes;
  }
}

// One collective on buffers of its own, to be timed again and again. One thread.
class Loop {
 public:
  Loop(nb::handle comm, const std::string& collective, nb::object input, nb::object output,
       std::size_t count, const std::string& op, int root, const std::string& algorithm)
      : comm_(communicator_of(comm)), sends_(collective == "sendrecv") {
    CallArguments arguments;
    arguments.collective = sends_ ? "broadcast" : collective;  // the same element counts
    arguments.input = std::move(input);
    arguments.output = std::move(output);
    arguments.count = count;
    arguments.op = op;
    arguments.root = root;
    arguments.algorithm = algorithm;
    bound_ = bind_call(arguments, comm_->rank(), comm_->size());
    bound_.attach();
  }

  // Seconds of one operation: the mean of `batch` that follow a common start. The input is
  // rewritten before each with `tile`, one element on each time; for the first of the batch that
  // is outside of the measured time.
  double sample(nb::handle tile, int batch) {
    Array values = Array::input(tile, "bench: tile");
    if (values.dtype() != bound_.call.dtype || values.count() == 0 || batch < 1)
      throw weft::InvalidArgument("bench: tile needs the call's dtype and one element, batch 1");
    nb::gil_scoped_release release;
    fill(bound_.input, values, 0);
    comm_->barrier();
    const auto start = std::chrono::steady_clock::now();
    operate();
    for (int i = 1; i < batch; ++i) {
      fill(bound_.input, values, static_cast<std::size_t>(i));
      operate();
    }
    return Seconds(std::chrono::steady_clock::now() - start).count() / batch;
  }

 private:
  void operate() {
    const weft::Call& call = bound_.call;
    if (!sends_) return comm_->run(call);
    const int rank = comm_->rank(), size = comm_->size();
    auto received = comm_->irecv(call.output, call.count, call.dtype, (rank + size - 1) % size);
    auto sent = comm_->isend(call.input, call.count, call.dtype, (rank + 1) % size);
    sent.wait();
    received.wait();
  }

  std::shared_ptr<weft::Communicator> comm_;
  bool sends_;  // around the ring of ranks, as nccl-tests' sendrecv does
  BoundCall bound_;
};

}  // namespace

void bind_bench(nb::module_& m) {
  nb::class_<Loop>(m, "Loop")
      .def(nb::init<nb::handle, const std::string&, nb::object, nb::object, std::size_t,
                    const std::string&, int, const std::string&>(),
           nb::arg("comm"), nb::arg("collective"), nb::arg("input").none(),
           nb::arg("output").none(), nb::arg("count"), nb::arg("op"), nb::arg("root"),
           nb::arg("algorithm"))
      .def("sample", &Loop::sample, nb::arg("tile"), nb::arg("batch"));
}
