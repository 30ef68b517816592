#include "pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace bench {

namespace {

// An output is a sequence of such pieces: the sum of some ranks' inputs, from element `start` on.
struct Piece {
  int first, last;  // ranks, inclusive
  std::size_t start;
  std::size_t elements;
};

std::vector<Piece> pieces(const Case& c, int rank, int ranks) {
  const std::size_t own = static_cast<std::size_t>(rank) * c.count;
  const std::string& name = c.collective;
  if (sides(c, rank, ranks).output == 0) return {};
  if (name == "allreduce" || name == "reduce") return {{0, ranks - 1, 0, c.count}};
  if (name == "reduce_scatter") return {{0, ranks - 1, own, c.count}};
  if (name == "scatter") return {{0, 0, own, c.count}};
  if (name == "broadcast") return {{0, 0, 0, c.count}};
  const int left = (rank + ranks - 1) % ranks;
  if (name == "sendrecv") return {{left, left, 0, c.count}};
  std::vector<Piece> of_all;  // allgather, gather, alltoall
  for (int r = 0; r < ranks; ++r) of_all.push_back({r, r, name == "alltoall" ? own : 0, c.count});
  return of_all;
}

template <class T>
void store(std::vector<std::byte>& to, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// IEEE half precision of an integer below 2048.
std::uint16_t half(unsigned value) {
  if (value == 0) return 0;
  const int exponent = std::bit_width(value) - 1;
  const unsigned mantissa = (value << (10 - exponent)) & 0x3ff;
  return static_cast<std::uint16_t>(static_cast<unsigned>(exponent + 15) << 10 | mantissa);
}

void encode(std::vector<std::byte>& to, std::uint8_t value, const std::string& dtype) {
  if (dtype == "float32" || dtype == "complex64") store(to, static_cast<float>(value));
  if (dtype == "float64" || dtype == "complex128") store(to, static_cast<double>(value));
  if (dtype == "complex64") store(to, 0.0f);
  if (dtype == "complex128") store(to, 0.0);
  if (dtype == "float16") store(to, half(value));
  if (dtype == "bfloat16")
    store(to, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(float(value)) >> 16));
  if (dtype == "bool") store(to, static_cast<std::uint8_t>(value != 0));
  if (dtype.ends_with("int8") || dtype.starts_with("float8")) store(to, value);
  if (dtype.ends_with("int16")) store(to, static_cast<std::uint16_t>(value));
  if (dtype.ends_with("int32")) store(to, static_cast<std::uint32_t>(value));
  if (dtype.ends_with("int64")) store(to, static_cast<std::uint64_t>(value));
}

// Whether `bytes` at `data` repeat `values`, from its start.
bool repeats(const std::byte* data, std::size_t bytes, const std::vector<std::byte>& values) {
  for (std::size_t at = 0; at < bytes; at += values.size())
    if (std::memcmp(data + at, values.data(), std::min(values.size(), bytes - at)) != 0)
      return false;
  return true;
}

}  // namespace

std::size_t item_bytes(const std::string& dtype) {
  std::vector<std::byte> one;
  encode(one, 1, dtype);
  if (one.empty()) throw std::runtime_error("the benchmark does not know the type " + dtype);
  return one.size();
}

std::vector<std::uint8_t> tile(int rank, long iteration, int ranks, std::size_t elements) {
  const std::uint64_t values = static_cast<std::uint64_t>(std::clamp(127 / ranks, 1, 3)) + 1;
  const std::uint64_t seed = static_cast<std::uint64_t>(rank + 1) * 0xBF58476D1CE4E5B9 +
                             static_cast<std::uint64_t>(iteration) * 0x94D049BB133111EB;
  std::vector<std::uint8_t> made(std::min(elements, kPeriod));
  for (std::size_t place = 0; place < made.size(); ++place) {
    std::uint64_t mixed = place * 0x9E3779B97F4A7C15 + seed;
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9;
    made[place] = static_cast<std::uint8_t>((mixed >> 33) % values);
  }
  return made;
}

std::vector<std::byte> encoded(std::span<const std::uint8_t> values, const std::string& dtype) {
  const std::size_t item = item_bytes(dtype);
  std::vector<std::byte> words, out(values.size() * item);
  for (int value = 0; value < 128; ++value) encode(words, static_cast<std::uint8_t>(value), dtype);
  for (std::size_t e = 0; e < values.size(); ++e)
    std::memcpy(&out[e * item], &words[values[e] * item], item);
  return out;
}

void fill(void* to, std::size_t bytes, std::span<const std::byte> values, std::size_t item,
          std::size_t shift) {
  auto* at = static_cast<std::byte*>(to);
  for (std::size_t from = shift * item; bytes > 0; from = 0) {
    const std::size_t part = std::min(bytes, values.size() - from);
    std::memcpy(at, &values[from], part);
    at += part;
    bytes -= part;
  }
}

bool right(const Case& c, int rank, int ranks, long iteration, std::size_t shift,
           const void* output) {
  const std::size_t item = item_bytes(c.dtype);
  const auto* at = static_cast<const std::byte*>(output);
  for (const Piece& piece : pieces(c, rank, ranks)) {
    std::vector<std::uint8_t> sum(kPeriod);
    for (int r = piece.first; r <= piece.last; ++r) {
      const std::vector<std::uint8_t> one = tile(r, iteration, ranks);
      for (std::size_t e = 0; e < kPeriod; ++e)
        sum[e] = static_cast<std::uint8_t>(sum[e] + one[(e + piece.start + shift) % kPeriod]);
    }
    if (!repeats(at, piece.elements * item, encoded(sum, c.dtype))) return false;
    at += piece.elements * item;
  }
  return true;
}

}  // namespace bench
