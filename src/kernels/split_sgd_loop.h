// One step of SGD on weights whose halves lie apart. Included by each isa_*.cc after formats.h, in
// the same anonymous namespace.
//
//   high  h0 h1 h2 h3 ...   the weight's upper 16 bits, a bf16
//   low   l0 l1 l2 l3 ...   its lower 16 bits
//
// Two neighbours of an array are one 32-bit word: the even one is the word's low half, the odd one
// its high half. So shifts and masks put the weights of a register together.
//
// Each product is rounded before it is added (-ffp-contract=off). The last elements go through the
// same code, in arrays with zeros behind them, so an element's bits do not depend on its place.

// The step for one register: changes the weight, and the momentum if there is one.
template <int N>
WEFT_INLINE void split_sgd_step(Floats<N>& weight, Floats<N> grad, Floats<N>* momentum,
                                const SgdFactors& factors) {
  if (factors.weight_decay != 0) grad = grad + weight * factors.weight_decay;
  if (momentum) {
    *momentum = factors.first ? grad : *momentum * factors.momentum + grad * factors.undamped;
    grad = factors.nesterov ? grad + *momentum * factors.momentum : *momentum;
  }
  weight = weight + grad * factors.minus_lr;
}

// Elements [index, index + 2 * N).
template <int N>
WEFT_INLINE void split_sgd_block(const SplitArrays& all, std::size_t index,
                                 const SgdFactors& factors) {
  constexpr std::uint32_t kUpper = 0xffff0000u, kLower = 0xffffu;
  const auto high = as<Words<N>>(load<std::uint16_t, 2 * N>(all.high, index));
  const auto low = as<Words<N>>(load<std::uint16_t, 2 * N>(all.low, index));
  const auto grad = as<Words<N>>(load<std::uint16_t, 2 * N>(all.grad, index));
  auto even = as<Floats<N>>((high << 16) | (low & kLower));
  auto odd = as<Floats<N>>((high & kUpper) | (low >> 16));
  Floats<N> even_momentum = {}, odd_momentum = {};
  if (all.momentum && !factors.first) {
    EvenOdd<N>::read_wide(even_momentum, odd_momentum, all.momentum, index);
  }
  split_sgd_step<N>(even, as<Floats<N>>(grad << 16), all.momentum ? &even_momentum : nullptr,
                    factors);
  split_sgd_step<N>(odd, as<Floats<N>>(grad & kUpper), all.momentum ? &odd_momentum : nullptr,
                    factors);
  if (all.momentum) {
    EvenOdd<N>::write_wide(all.momentum, index, even_momentum, odd_momentum);
  }
  const auto e = as<Words<N>>(even), o = as<Words<N>>(odd);
  store<std::uint16_t, 2 * N>(all.high, index, as<Halves<2 * N>>((e >> 16) | (o & kUpper)));
  store<std::uint16_t, 2 * N>(all.low, index, as<Halves<2 * N>>((e & kLower) | (o << 16)));
}

inline void split_sgd(const SplitArrays& all, std::size_t count, const SgdFactors& factors) {
  const Exact exact;
  constexpr int kHere = kLanes<float>;
  constexpr std::size_t kBlock = 2 * kHere;
  std::size_t index = 0;
  for (; index + kBlock <= count; index += kBlock) split_sgd_block<kHere>(all, index, factors);
  if (index == count) return;

  const std::size_t rest = count - index, bytes = rest * sizeof(std::uint16_t);
  std::uint16_t high[kBlock] = {}, low[kBlock] = {}, grad[kBlock] = {};
  float momentum[kBlock] = {};
  __builtin_memcpy(high, all.high + index, bytes);
  __builtin_memcpy(low, all.low + index, bytes);
  __builtin_memcpy(grad, all.grad + index, bytes);
  if (all.momentum) __builtin_memcpy(momentum, all.momentum + index, rest * sizeof(float));
  split_sgd_block<kHere>({high, low, grad, all.momentum ? momentum : nullptr}, 0, factors);
  __builtin_memcpy(all.high + index, high, bytes);
  __builtin_memcpy(all.low + index, low, bytes);
  if (all.momentum) __builtin_memcpy(all.momentum + index, momentum, rest * sizeof(float));
}
