#include "array.h"

#include <cstring>
#include <optional>
#include <utility>

#include "weft/error.h"

namespace {

using nb::dlpack::dtype;
using weft::DType;

// DLPack's codes; nanobind names those up to complex only.
enum Code : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBFloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3 = 10,
  kFloat8E5M2 = 12,
};

struct Known {
  std::uint8_t code;
  std::uint8_t bits;
  DType dtype;
};

constexpr Known kKnown[] = {
    {kBool, 8, DType::kBool},
    {kUInt, 8, DType::kU8},
    {kInt, 8, DType::kI8},
    {kUInt, 16, DType::kU16},
    {kInt, 16, DType::kI16},
    {kUInt, 32, DType::kU32},
    {kInt, 32, DType::kI32},
    {kUInt, 64, DType::kU64},
    {kInt, 64, DType::kI64},
    {kFloat, 16, DType::kF16},
    {kBFloat, 16, DType::kBF16},
    {kFloat, 32, DType::kF32},
    {kFloat, 64, DType::kF64},
    {kComplex, 64, DType::kC64},
    {kComplex, 128, DType::kC128},
    {kFloat8E4M3, 8, DType::kF8E4M3},
    {kFloat8E5M2, 8, DType::kF8E5M2},
};

std::string python_type(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

DType known(dtype type, const std::string& who) {
  for (const Known& k : kKnown)
    if (type.lanes == 1 && k.code == type.code && k.bits == type.bits) return k.dtype;
  throw weft::InvalidArgument(who + " has an element type that Weft does not know (DLPack code " +
                              std::to_string(type.code) + ", " + std::to_string(type.bits) +
                              " bits)");
}

// NumPy arrays of ml_dtypes' types export nothing; their bits do.
std::optional<std::pair<nb::object, DType>> extension_type(nb::handle object) {
  if (!nb::hasattr(object, "view") || !nb::hasattr(object, "dtype")) return {};
  const nb::object dtype = object.attr("dtype");
  const std::string name = nb::str(nb::handle(dtype)).c_str();
  if (name == "bfloat16") return {{object.attr("view")("uint16"), DType::kBF16}};
  if (name == "float8_e4m3fn") return {{object.attr("view")("uint8"), DType::kF8E4M3}};
  if (name == "float8_e5m2") return {{object.attr("view")("uint8"), DType::kF8E5M2}};
  return {};
}

// Why an object is no array, in its own words where it has any.
[[noreturn]] void refuse(nb::handle object, const std::string& who) {
  std::string why = "pass a NumPy array, or an object with DLPack or the buffer protocol";
  if (nb::hasattr(object, "__dlpack__")) {
    try {
      object.attr("__dlpack__")();
      why = "its device or element type is not supported: pass an array in the CPU's memory";
    } catch (nb::python_error& error) {
      why = nb::str(error.value()).c_str();
    }
  }
  throw weft::InvalidArgument(who + " (" + python_type(object) + ") cannot be used: " + why);
}

template <typename Handle>
bool contiguous(const Handle& handle) {
  if (handle.size() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = handle.ndim(); i-- > 0;) {
    if (handle.shape(i) != 1 && handle.stride(i) != expected) return false;
    expected *= static_cast<std::int64_t>(handle.shape(i));
  }
  return true;
}

template <typename Handle>
std::optional<std::pair<Handle, DType>> imported(nb::handle object, const std::string& who) {
  Handle handle;
  if (nb::try_cast(object, handle, false) && handle.device_type() == nb::device::cpu::value)
    return {{handle, known(handle.dtype(), who)}};
  auto extension = extension_type(object);
  if (extension && nb::try_cast(extension->first, handle, false))
    return {{handle, extension->second}};
  return {};
}

// Copies the elements under dimension `dim` in C order; returns the end of what it wrote.
std::byte* copy_dimension(std::byte* to, const std::byte* from, const nb::ndarray<nb::ro>& array,
                          std::size_t dim, std::size_t size) {
  if (dim == array.ndim()) {
    std::memcpy(to, from, size);
    return to + size;
  }
  const auto step = array.stride(dim) * static_cast<std::ptrdiff_t>(size);
  for (std::size_t i = 0; i < array.shape(dim); ++i)
    to = copy_dimension(to, from + static_cast<std::ptrdiff_t>(i) * step, array, dim + 1, size);
  return to;
}

}  // namespace

Array Array::of(Handle handle, DType dtype) {
  Array array;
  array.data_ = const_cast<void*>(handle.data());
  array.count_ = handle.size();
  array.dtype_ = dtype;
  array.handle_ = std::move(handle);
  return array;
}

void Array::copy_strided(const Handle& handle) {
  const std::size_t size = weft::size_of(dtype_);
  copied_.resize(count_ * size);
  copy_dimension(copied_.data(), static_cast<const std::byte*>(handle.data()), handle, 0, size);
  data_ = copied_.data();
}

Array Array::input(nb::handle object, const std::string& who) {
  auto found = imported<Handle>(object, who);
  if (!found) refuse(object, who);
  Array array = of(found->first, found->second);
  if (!contiguous(found->first)) array.copy_strided(found->first);
  return array;
}

Array Array::output(nb::handle object, const std::string& who) {
  auto found = imported<nb::ndarray<>>(object, who);
  if (!found) {
    if (imported<Handle>(object, who))
      throw weft::InvalidArgument(who + " is read-only: pass an array that can be written");
    refuse(object, who);
  }
  if (!contiguous(found->first))
    throw weft::InvalidArgument(who + " is not contiguous: pass one in C order, and copy from it");
  return of(Handle(found->first), found->second);
}
