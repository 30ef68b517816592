// Symmetric memory (weft/communicator.h): as NumPy arrays of bytes, and under other arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "array.h"
#include "bindings.h"
#include "weft/communicator.h"

namespace {

using Bytes = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

Bytes symmetric_bytes(std::size_t bytes) {
  std::shared_ptr<void>* memory;
  {
    nb::gil_scoped_release release;
    memory = new std::shared_ptr<void>(weft::symmetric_alloc(*weft::process_fabric(), bytes));
  }
  nb::capsule owner(memory, [](void* held) noexcept {
    nb::gil_scoped_release release;
    delete static_cast<std::shared_ptr<void>*>(held);
  });
  return Bytes(memory->get(), {bytes}, owner);
}

}  // namespace

// An array that is not contiguous lies in a copy, as in a call.
bool is_symmetric(nb::handle x) {
  const Array array = Array::input(x, "is_symmetric: x");
  const std::size_t bytes = array.count() * weft::size_of(array.dtype());
  return bytes > 0 && weft::is_symmetric(*weft::process_fabric(), array.data(), bytes);
}

void bind_memory(nb::module_& m) {
  m.def("is_symmetric", &is_symmetric, nb::arg("x"));
  m.def("symmetric_bytes", &symmetric_bytes, nb::arg("bytes"), nb::rv_policy::reference);
}
