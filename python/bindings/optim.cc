// weft/optim.h on tensors of the types and lengths that it asks for.
#include "weft/optim.h"

#include <nanobind/nanobind.h>

#include <string>

#include "array.h"
#include "bindings.h"
#include "weft/error.h"

namespace {

using weft::DType;

// Throws InvalidArgument unless the array is of this type and length.
const Array& checked(const Array& array, const std::string& name, DType dtype, std::size_t count) {
  if (array.dtype() == dtype && array.count() == count) return array;
  const auto text = [](DType type, std::size_t length) {
    return std::to_string(length) + " elements of " + std::string(weft::name_of(type));
  };
  throw weft::InvalidArgument("split_sgd: " + name + " has " + text(array.dtype(), array.count()) +
                              ", not " + text(dtype, count));
}

Array output(nb::handle object, const std::string& name, DType dtype, std::size_t count) {
  return checked(Array::output(object, "split_sgd: " + name), name, dtype, count);
}

Array input(nb::handle object, const std::string& name, DType dtype, std::size_t count) {
  return checked(Array::input(object, "split_sgd: " + name), name, dtype, count);
}

// Arrays of one length.
void dense(nb::handle high, nb::handle low, nb::handle grad, nb::handle momentum,
           const weft::SgdOptions& options, int threads) {
  const Array upper = Array::output(high, "split_sgd: high");
  const std::size_t count = upper.count();
  checked(upper, "high", DType::kBF16, count);
  const Array lower = output(low, "low", DType::kI16, count);
  const Array gradient = input(grad, "grad", DType::kBF16, count);
  const Array buffer =
      momentum.is_none() ? Array() : output(momentum, "momentum", DType::kF32, count);
  const weft::SplitWeights weights{.high = static_cast<std::uint16_t*>(upper.data()),
                                   .low = static_cast<std::uint16_t*>(lower.data()),
                                   .grad = static_cast<const std::uint16_t*>(gradient.data()),
                                   .momentum = static_cast<float*>(buffer.data()),
                                   .count = count};
  nb::gil_scoped_release release;
  weft::split_sgd(weights, options, threads);
}

void table(nb::handle high, nb::handle low, nb::handle row, nb::handle grad, std::size_t rows,
           double lr) {
  const Array upper = Array::output(high, "split_sgd: high");
  const std::size_t count = upper.count();
  checked(upper, "high", DType::kBF16, count);
  if (rows == 0 || count % rows != 0) throw weft::InvalidArgument("split_sgd: no such table");
  const Array lower = output(low, "low", DType::kI16, count);
  const Array index = Array::input(row, "split_sgd: row");
  checked(index, "row", DType::kI64, index.count());
  const std::size_t width = count / rows;
  const Array gradient = input(grad, "grad", DType::kBF16, index.count() * width);
  const weft::SplitTable all{.high = static_cast<std::uint16_t*>(upper.data()),
                             .low = static_cast<std::uint16_t*>(lower.data()),
                             .rows = rows,
                             .width = width,
                             .grad = static_cast<const std::uint16_t*>(gradient.data()),
                             .row = static_cast<const std::int64_t*>(index.data()),
                             .entries = index.count()};
  nb::gil_scoped_release release;
  weft::split_sgd(all, lr);
}

}  // namespace

void bind_optim(nb::module_& m) {
  nb::class_<weft::SgdOptions>(m, "SgdOptions")
      .def(
          "__init__",
          [](weft::SgdOptions* self, double lr, double momentum, double dampening,
             double weight_decay, bool nesterov, bool first) {
            new (self) weft::SgdOptions{lr, momentum, dampening, weight_decay, nesterov, first};
          },
          nb::arg("lr"), nb::arg("momentum"), nb::arg("dampening"), nb::arg("weight_decay"),
          nb::arg("nesterov"), nb::arg("first"));
  m.def("split_sgd", &dense, nb::arg("high"), nb::arg("low"), nb::arg("grad"),
        nb::arg("momentum").none(), nb::arg("options"), nb::arg("threads"));
  m.def("split_sgd_rows", &table, nb::arg("high"), nb::arg("low"), nb::arg("row"), nb::arg("grad"),
        nb::arg("rows"), nb::arg("lr"));
}
