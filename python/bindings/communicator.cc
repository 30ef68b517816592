// weft/communicator.h: communicators, requests, the rendezvous. The GIL is released
// around everything that may wait.
#include "weft/communicator.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "bindings.h"
#include "call.h"
#include "gil.h"
#include "python_store.h"

namespace {

using Buried = Graveyard<BoundCall>;

// Lets Python's signal handlers run while a call waits; throws what they raise.
void check_signals() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A request and the arrays it works on.
class PyRequest {
 public:
  weft::Request request;
  std::shared_ptr<BoundCall> arrays;

  PyRequest(weft::Request started, std::shared_ptr<BoundCall> bound)
      : request(std::move(started)), arrays(std::move(bound)) {
    // The arrays live until the operation ends, even if Python forgets the request.
    request.on_finish([kept = arrays] {});
  }

  // From now on its end will be noted.
  void note_end() {
    auto noted = std::make_shared<std::atomic<std::int64_t>>(0);
    ended_ = noted;
    request.on_finish([noted] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      noted->store(std::chrono::nanoseconds(now).count(), std::memory_order_relaxed);
    });
  }

  // When it ended, in nanoseconds of the monotonic clock; 0 if that is not known.
  std::int64_t ended() const { return ended_ ? ended_->load(std::memory_order_relaxed) : 0; }

  // Ctrl-C ends the wait, and not the operation.
  void wait(double timeout) {
    {
      nb::gil_scoped_release release;
      request.wait(milliseconds(timeout));
    }
    Buried::clear();
  }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> ended_;  // by itself
};

weft::CommunicatorOptions options_of(double timeout, bool reproducible, const std::string& tuning,
                                     const std::string& fabric, const std::string& wire,
                                     int priority, const weft::WorkerOptions& workers) {
  weft::CommunicatorOptions options;
  options.timeout = milliseconds(timeout);
  options.interrupt = check_signals;
  options.reproducible = reproducible;
  options.tuning = tuning;
  options.fabric_name = fabric;
  options.wire = wire;
  options.priority = priority;
  options.workers = workers;
  return options;
}

// Leaves when closed or forgotten; later use is an error, not a crash.
class PyCommunicator {
  // Calls `body` with the communicator, which may wait, and may leave if it was closed meanwhile.
  template <typename Body>
  auto without_gil(Body body) {
    Buried::clear();
    auto held = open();
    nb::gil_scoped_release release;
    auto comm = std::move(held);
    return body(*comm);
  }

 public:
  explicit PyCommunicator(std::shared_ptr<weft::Communicator> comm)
      : comm_(std::move(comm)), rank_(comm_->rank()), size_(comm_->size()) {}
  PyCommunicator(PyCommunicator&&) = default;
  ~PyCommunicator() { leave(); }

  static PyCommunicator create(nb::object store, int rank, int size, double timeout,
                               bool reproducible, std::string tuning, std::string fabric,
                               std::string wire, int priority, const weft::WorkerOptions& workers) {
    const auto options = options_of(timeout, reproducible, tuning, fabric, wire, priority, workers);
    std::shared_ptr<weft::Store> shared = store_of(std::move(store));
    nb::gil_scoped_release release;
    return PyCommunicator(weft::Communicator::create(shared, rank, size, options));
  }

  static PyCommunicator from_mpi(std::uintptr_t handle, double timeout, bool reproducible,
                                 std::string tuning, std::string fabric, std::string wire,
                                 int priority, const weft::WorkerOptions& workers) {
    const auto options = options_of(timeout, reproducible, tuning, fabric, wire, priority, workers);
    nb::gil_scoped_release release;
    return PyCommunicator(weft::Communicator::from_mpi(handle, options));
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  int priority() const { return open()->priority(); }
  std::vector<int> place() const { return open()->place(); }
  bool crowded() const { return open()->crowded(); }
  double timeout() const { return static_cast<double>(open()->timeout().count()) / 1000.0; }
  void set_timeout(double seconds) { open()->set_timeout(milliseconds(seconds)); }
  bool closed() const { return comm_ == nullptr; }

  void run(const CallArguments& arguments) {
    BoundCall bound = bind_call(arguments, rank_, size_);
    without_gil([&](auto& comm) { comm.run(bound.attach()); });
  }

  PyRequest submit(const CallArguments& arguments) {
    auto bound = Buried::share(bind_call(arguments, rank_, size_));
    return without_gil([&](auto& comm) { return PyRequest(comm.submit(bound->attach()), bound); });
  }

  PyRequest isend(nb::handle data, int destination, int tag) {
    BoundCall bound;
    bound.input = Array::input(data, "rank " + std::to_string(rank_) + ": send: x");
    auto shared = Buried::share(std::move(bound));
    return without_gil([&](auto& comm) {
      const Array& from = shared->input;
      return PyRequest(comm.isend(from.data(), from.count(), from.dtype(), destination, tag),
                       shared);
    });
  }

  PyRequest irecv(nb::handle data, int source, int tag) {
    BoundCall bound;
    bound.output = Array::output(data, "rank " + std::to_string(rank_) + ": recv: out");
    auto shared = Buried::share(std::move(bound));
    return without_gil([&](auto& comm) {
      const Array& to = shared->output;
      return PyRequest(comm.irecv(to.data(), to.count(), to.dtype(), source, tag), shared);
    });
  }

  std::optional<PyCommunicator> split(int color, int key, std::optional<int> priority) {
    return without_gil([&](auto& comm) -> std::optional<PyCommunicator> {
      auto part = comm.split(color, key, priority);
      if (!part) return std::nullopt;
      return PyCommunicator(std::move(part));
    });
  }

  void abort(const std::string& why) {
    without_gil([&](auto& comm) { comm.abort(why); });
  }

  void settle(double seconds) {
    const auto deadline = std::chrono::steady_clock::now() + milliseconds(seconds);
    without_gil([&](auto& comm) { comm.settle(deadline); });
  }

  std::string algorithm_for(const std::string& collective, std::size_t count,
                            const std::string& dtype, const std::string& op, int root,
                            const std::string& algorithm, bool symmetric) const {
    weft::Call call{weft::parse_collective(collective)};
    call.count = count;
    call.dtype = weft::parse_dtype(dtype);
    call.op = weft::parse_reduce_op(op);
    call.root = root;
    call.algorithm = algorithm;
    call.symmetric = symmetric;
    // The call is checked as if it were made, with buffers that lie apart. Nobody looks into them.
    constexpr std::uintptr_t kHere = 64, kThere = std::uintptr_t{1} << 63;
    call.input = reinterpret_cast<const void*>(kHere);
    call.output = reinterpret_cast<void*>(kThere);
    return open()->algorithm_for(call);
  }

  // Leaves also where it throws.
  void close() {
    if (!comm_) return;
    try {
      without_gil([](auto& comm) { comm.check_leftovers(); });
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }

  void leave() {
    if (!comm_) return;
    {
      auto leaving = std::move(comm_);
      nb::gil_scoped_release release;
      leaving.reset();
    }
    Buried::clear();
  }

  // A reference of the caller's own: another thread may close meanwhile.
  std::shared_ptr<weft::Communicator> open() const {
    if (comm_) return comm_;
    throw weft::InvalidArgument("rank " + std::to_string(rank_) +
                                ": this communicator is closed: make a new one with weft.init()");
  }

 private:
  std::shared_ptr<weft::Communicator> comm_;
  int rank_;
  int size_;
};

CallArguments arguments_of(const std::string& collective, nb::object input, nb::object output,
                           std::size_t count, const std::string& op, int root, double scale,
                           Counts input_counts, Counts output_counts, const std::string& algorithm,
                           bool symmetric, double timeout) {
  return {collective, input,        output,        count,     op,        root,
          scale,      input_counts, output_counts, algorithm, symmetric, timeout};
}

// A method of PyCommunicator that takes a call, with its arguments by name.
template <auto Method>
void def_call(nb::class_<PyCommunicator>& type, const char* name) {
  type.def(
      name,
      [](PyCommunicator& self, const std::string& collective, nb::object input, nb::object output,
         std::size_t count, const std::string& op, int root, double scale, Counts input_counts,
         Counts output_counts, const std::string& algorithm, bool symmetric, double timeout) {
        return (self.*Method)(arguments_of(collective, input, output, count, op, root, scale,
                                           input_counts, output_counts, algorithm, symmetric,
                                           timeout));
      },
      nb::arg("collective"), nb::arg("input").none() = nb::none(),
      nb::arg("output").none() = nb::none(), nb::arg("count") = 0, nb::arg("op") = "sum",
      nb::arg("root") = 0, nb::arg("scale") = 1.0, nb::arg("input_counts").none() = nb::none(),
      nb::arg("output_counts").none() = nb::none(), nb::arg("algorithm") = "",
      nb::arg("symmetric") = false, nb::arg("timeout") = 0.0);
}

}  // namespace

std::shared_ptr<weft::Communicator> communicator_of(nb::handle object) {
  return nb::cast<PyCommunicator&>(object).open();
}

void bind_communicator(nb::module_& m) {
  m.attr("ANY_SOURCE") = weft::kAnySource;

  nb::class_<PyRequest>(m, "Request")
      .def("test", [](PyRequest& self) { return self.request.test(); })
      .def("wait", &PyRequest::wait, nb::arg("timeout") = 0.0)
      .def("note_end", &PyRequest::note_end)
      .def("ended", &PyRequest::ended)
      .def("source", [](PyRequest& self) { return self.request.source(); });

  nb::class_<weft::WorkerOptions>(m, "WorkerOptions")
      .def(
          "__init__",
          [](weft::WorkerOptions* self, std::optional<int> count,
             std::optional<std::vector<int>> cores, std::optional<int> nice,
             std::optional<int> compute_threads) {
            new (self) weft::WorkerOptions{count, std::move(cores), nice, compute_threads};
          },
          nb::arg("count").none(), nb::arg("cores").none(), nb::arg("nice").none(),
          nb::arg("compute_threads").none());

  nb::class_<PyCommunicator> type(m, "Communicator");
  type.def_static("create", &PyCommunicator::create, nb::arg("store"), nb::arg("rank"),
                  nb::arg("size"), nb::arg("timeout"), nb::arg("reproducible") = false,
                  nb::arg("tuning") = "", nb::arg("fabric") = "", nb::arg("wire") = "",
                  nb::arg("priority") = 0, nb::arg("workers") = weft::WorkerOptions())
      .def_static("from_mpi", &PyCommunicator::from_mpi, nb::arg("handle"), nb::arg("timeout"),
                  nb::arg("reproducible") = false, nb::arg("tuning") = "", nb::arg("fabric") = "",
                  nb::arg("wire") = "", nb::arg("priority") = 0,
                  nb::arg("workers") = weft::WorkerOptions())
      .def_prop_ro("rank", &PyCommunicator::rank)
      .def_prop_ro("size", &PyCommunicator::size)
      .def_prop_rw("timeout", &PyCommunicator::timeout, &PyCommunicator::set_timeout)
      .def_prop_ro("priority", &PyCommunicator::priority)
      .def_prop_ro("place", &PyCommunicator::place)
      .def_prop_ro("crowded", &PyCommunicator::crowded)
      .def_prop_ro("closed", &PyCommunicator::closed)
      .def("isend", &PyCommunicator::isend, nb::arg("x"), nb::arg("destination"), nb::arg("tag"))
      .def("irecv", &PyCommunicator::irecv, nb::arg("out"), nb::arg("source"), nb::arg("tag"))
      .def("algorithm_for", &PyCommunicator::algorithm_for, nb::arg("collective"), nb::arg("count"),
           nb::arg("dtype"), nb::arg("op") = "sum", nb::arg("root") = 0, nb::arg("algorithm") = "",
           nb::arg("symmetric") = false)
      .def("split", &PyCommunicator::split, nb::arg("color"), nb::arg("key"),
           nb::arg("priority").none() = nb::none())
      .def("abort", &PyCommunicator::abort, nb::arg("why"))
      .def("settle", &PyCommunicator::settle, nb::arg("seconds"))
      .def("close", &PyCommunicator::close);
  def_call<&PyCommunicator::run>(type, "run");
  def_call<&PyCommunicator::submit>(type, "submit");
}
