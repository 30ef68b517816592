// Inputs whose results are known exactly: small integers, other ones each iteration. The same
// patterns as python/weft/bench/patterns.py, which is for the libraries that are called from
// Python.
//
// Element e of rank r's input in iteration i is tile(r, i)[e mod kPeriod]. The period is a prime,
// so that a block in the wrong place is seen. Sums stay below 128: exact in every type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "job.h"

namespace bench {

inline constexpr std::size_t kPeriod = 4093;

// Bytes of an element. Throws std::runtime_error for a type that is not known.
std::size_t item_bytes(const std::string& dtype);

// The first `elements` (at most a period) of a rank's input: a hash of place, rank and iteration.
std::vector<std::uint8_t> tile(int rank, long iteration, int ranks, std::size_t elements = kPeriod);

// Values below 128 as elements of `dtype`. Values of 8-bit floats are bit patterns: they are only
// moved.
std::vector<std::byte> encoded(std::span<const std::uint8_t> values, const std::string& dtype);

// Writes `bytes` of `to` by repeating `values` (elements of `item` bytes), from element `shift` on.
void fill(void* to, std::size_t bytes, std::span<const std::byte> values, std::size_t item,
          std::size_t shift);

// Whether this rank's output is right, to the bit, after an operation whose inputs began `shift`
// elements into their tiles. `ranks` as in the job.
bool right(const Case& c, int rank, int ranks, long iteration, std::size_t shift,
           const void* output);

}  // namespace bench
