#include "future.h"

#include <c10/util/Logging.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "strands.h"

namespace weft::torch_adapter {

namespace {

namespace py = pybind11;
using c10::ivalue::Future;
using torch::jit::PythonFutureWrapper;

// A callback that is to be called with its future. Goes under the GIL, wherever that is.
struct __attribute__((visibility("hidden"))) Attached {
  py::object future;
  py::function callback;

  ~Attached() {
    py::gil_scoped_acquire gil;
    future = {};
    callback = {};
  }

  // The value that the callback returns. Throws std::runtime_error with what it raises, as torch
  // does.
  c10::IValue call() const {
    py::gil_scoped_acquire gil;
    try {
      return torch::jit::toIValue(callback(future), c10::PyObjectType::get());
    } catch (py::error_already_set& error) {
      const std::string text = error.what();
      error.restore();  // so that its Python objects go while the GIL is held
      PyErr_Clear();
      throw std::runtime_error("Got the following error when running the callback: " + text);
    }
  }
};

PythonFutureWrapper& wrapper_of(const py::object& future) {
  return *future.cast<std::shared_ptr<PythonFutureWrapper>>();
}

// Calls `finish` with what the callback returned or threw, in its turn after `future` is complete.
template <typename Finish>
void attach(const py::object& future, py::function callback, Finish finish) {
  auto attached = std::make_shared<const Attached>(Attached{future, std::move(callback)});
  const std::string strand = strand_of_callbacks(future.attr("group").cast<std::string>());
  auto task = [attached = std::move(attached), after = wrapper_of(future).fut, finish] {
    after->wait();
    c10::IValue value;
    std::exception_ptr failure;
    try {
      value = attached->call();
    } catch (...) {
      failure = std::current_exception();
    }
    finish(std::move(value), failure);
  };
  py::gil_scoped_release blocking;
  post_in_order(strand, std::move(task));
}

py::object then(const py::object& future, py::function callback) {
  auto result = c10::make_intrusive<Future>(c10::PyObjectType::get());
  attach(future, std::move(callback), [result](c10::IValue value, std::exception_ptr failure) {
    failure ? result->setError(failure) : result->markCompleted(std::move(value));
  });
  return make_future(std::move(result), future.attr("group").cast<std::string>());
}

void add_done_callback(const py::object& future, py::function callback) {
  attach(future, std::move(callback), [](const c10::IValue&, const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      LOG(ERROR) << error.what();
    }
  });
}

}  // namespace

py::object make_future(c10::intrusive_ptr<Future> future, const std::string& group) {
  py::object made = py::module_::import("weft.torch_future").attr("Future")(group);
  wrapper_of(made).fut = std::move(future);
  return made;
}

void bind_future(py::module_& m) {
  m.def("then", &then);
  m.def("add_done_callback", &add_done_callback);
}

}  // namespace weft::torch_adapter
