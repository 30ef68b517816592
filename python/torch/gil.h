// Blocking without Python's lock.
#pragma once

#include <pybind11/pybind11.h>

namespace weft::torch_adapter {

// Gives the GIL back for its lifetime, if this thread holds it. Bindings mostly have
// released it; destructors run by the garbage collector have not.
class WithoutGil {
 public:
  WithoutGil() : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// From then on a thread that asks for the GIL never gets it.
inline bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// Lets Python's signal handlers run while a call waits; throws what they raise.
inline void check_signals() {
  pybind11::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

}  // namespace weft::torch_adapter
