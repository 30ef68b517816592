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
  // Arrays of elements as wide as `dtype`'s, whatever they are called in NumPy.
  Loop(nb::handle comm, const std::string& collective, nb::object input, nb::object output,
       std::size_t count, const std::string& dtype, const std::string& algorithm)
      : comm_(communicator_of(comm)), sends_(collective == "sendrecv") {
    CallArguments arguments;
    arguments.collective = sends_ ? "allreduce" : collective;  // the same element counts
    arguments.input = std::move(input);
    arguments.output = std::move(output);
    arguments.count = count;
    arguments.algorithm = algorithm;
    bound_ = bind_call(arguments, comm_->rank(), comm_->size());
    if (collective != "barrier") call_dtype(weft::parse_dtype(dtype));
    bound_.attach();
  }

  // Seconds of one operation: the mean of `batch` that follow a common start. The input is
  // rewritten before each with `tile`, one element on each time; for the first of the batch that
  // is outside of the measured time.
  double sample(nb::handle tile, int batch) {
    Array values = Array::input(tile, "bench: tile");
    check_width(values.dtype(), "tile");
    if (values.count() == 0 || batch < 1)
      throw weft::InvalidArgument("bench: tile needs an element, and batch is at least 1");
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

  // One operation, neither rewritten nor timed.
  void once() {
    nb::gil_scoped_release release;
    operate();
  }

 private:
  void call_dtype(weft::DType dtype) {
    check_width(dtype, "dtype");
    bound_.call.dtype = dtype;
  }

  void check_width(weft::DType dtype, const char* what) const {
    const bool barrier = bound_.call.collective == weft::Collective::kBarrier;
    if (!barrier && weft::size_of(dtype) != weft::size_of(bound_.call.dtype))
      throw weft::InvalidArgument("bench: " + std::string(what) +
                                  " has elements of another width than the buffers");
  }

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
                    const std::string&, const std::string&>(),
           nb::arg("comm"), nb::arg("collective"), nb::arg("input").none(),
           nb::arg("output").none(), nb::arg("count"), nb::arg("dtype"), nb::arg("algorithm"))
      .def("sample", &Loop::sample, nb::arg("tile"), nb::arg("batch"))
      .def("once", &Loop::once);
}
