// Python arrays as flat memory: NumPy, DLPack, the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <string>
#include <vector>

#include "weft/types.h"

namespace nb = nanobind;

// One array in C order. Keeps the Python object alive; needs the GIL to be made and
// destroyed, not to be used.
class Array {
 public:
  Array() = default;

  // To read. An array that is not contiguous is copied, so the values are the present ones.
  static Array input(nb::handle object, const std::string& who);
  // To write. Refuses what is read-only or not contiguous.
  static Array output(nb::handle object, const std::string& who);

  // `who` above starts every error: "rank 1: allreduce: out".
  void* data() const { return data_; }
  std::size_t count() const { return count_; }
  weft::DType dtype() const { return dtype_; }

 private:
  using Handle = nb::ndarray<nb::ro>;

  static Array of(Handle handle, weft::DType dtype);
  void copy_strided(const Handle& handle);

  Handle handle_;
  std::vector<std::byte> copied_;
  void* data_ = nullptr;
  std::size_t count_ = 0;
  weft::DType dtype_ = weft::DType::kU8;
};
