// The table of one instruction set's loops. Included by each isa_*.cc after loops.h, in
// the same anonymous namespace.

using Row = ReduceFn[kReduceOps];

constexpr void set(Row& row, ReduceOp op, ReduceFn fn) { row[static_cast<int>(op)] = fn; }

// Sum and product of signed and unsigned wrap in the same way, so `U` is the unsigned type of `T`'s
// size.
template <class T, class U>
constexpr void fill_integer(Row& row) {
  constexpr int kBytes = sizeof(T);
  set(row, ReduceOp::kSum, reduce_plain<Plain<U>, Sum>);
  set(row, ReduceOp::kProd, reduce_plain<Plain<U>, Prod>);
  set(row, ReduceOp::kMin, reduce_plain<Plain<T>, Min>);
  set(row, ReduceOp::kMax, reduce_plain<Plain<T>, Max>);
  set(row, ReduceOp::kBitAnd, reduce_plain<Plain<std::uint8_t>, And, kBytes>);
  set(row, ReduceOp::kBitOr, reduce_plain<Plain<std::uint8_t>, Or, kBytes>);
  set(row, ReduceOp::kBitXor, reduce_plain<Plain<std::uint8_t>, Xor, kBytes>);
}

constexpr void fill_bool(Row& row) {
  set(row, ReduceOp::kSum, reduce_plain<Bool, Or>);
  set(row, ReduceOp::kProd, reduce_plain<Bool, And>);
  set(row, ReduceOp::kMin, reduce_plain<Bool, And>);
  set(row, ReduceOp::kMax, reduce_plain<Bool, Or>);
  set(row, ReduceOp::kBitAnd, reduce_plain<Bool, And>);
  set(row, ReduceOp::kBitOr, reduce_plain<Bool, Or>);
  set(row, ReduceOp::kBitXor, reduce_plain<Bool, Xor>);
}

constexpr void set_sums(Row& row, ReduceFn fn) {
  set(row, ReduceOp::kSum, fn);
  set(row, ReduceOp::kAvg, fn);
  set(row, ReduceOp::kPremulSum, fn);
}

template <class Format>
constexpr void fill_floating(Row& row) {
  set_sums(row, reduce_sum<Format>);
  set(row, ReduceOp::kProd, reduce_plain<Format, Prod>);
  set(row, ReduceOp::kMin, reduce_plain<Format, Min>);
  set(row, ReduceOp::kMax, reduce_plain<Format, Max>);
}

template <class T>
constexpr void fill_complex(Row& row) {
  set_sums(row, reduce_sum<Plain<T>, 2>);
  set(row, ReduceOp::kProd, reduce_plain<Plain<T>, ComplexProd, 2>);
}

constexpr Table make_table() {
  Table table;
  auto row = [&table](DType dtype) -> Row& { return table.entries[static_cast<int>(dtype)]; };
  fill_bool(row(DType::kBool));
  fill_integer<std::uint8_t, std::uint8_t>(row(DType::kU8));
  fill_integer<std::int8_t, std::uint8_t>(row(DType::kI8));
  fill_integer<std::uint16_t, std::uint16_t>(row(DType::kU16));
  fill_integer<std::int16_t, std::uint16_t>(row(DType::kI16));
  fill_integer<std::uint32_t, std::uint32_t>(row(DType::kU32));
  fill_integer<std::int32_t, std::uint32_t>(row(DType::kI32));
  fill_integer<std::uint64_t, std::uint64_t>(row(DType::kU64));
  fill_integer<std::int64_t, std::uint64_t>(row(DType::kI64));
  fill_floating<F16>(row(DType::kF16));
  fill_floating<Bf16>(row(DType::kBF16));
  fill_floating<Plain<float>>(row(DType::kF32));
  fill_floating<Plain<double>>(row(DType::kF64));
  fill_complex<float>(row(DType::kC64));
  fill_complex<double>(row(DType::kC128));
  table.split_sgd = split_sgd;
  table.copy_plain = copy_plain;
  table.copy_parts = copy_parts;
  table.copy_stream = copy_stream;
  return table;
}
