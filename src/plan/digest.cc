// The digest of a plan's shape: FNV-1a over a prefix-free encoding, then mixed, so
// that small numbers that differ in one bit give digests that differ in many.
#include <cstdint>
#include <string_view>

#include "weft/plan.h"

namespace weft {
namespace {

class Hash {
 public:
  void byte(std::uint8_t value) { state_ = (state_ ^ value) * 0x100000001b3u; }
  // Four bytes, low first: the digest is the same on machines of either byte order.
  void number(std::int64_t value) {
    for (int shift = 0; shift < 32; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    for (char c : value) byte(static_cast<std::uint8_t>(c));
  }
  // The finaliser of MurmurHash3: every bit of the state moves every bit of the result.
  std::uint32_t result() const {
    std::uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return static_cast<std::uint32_t>(h ^ (h >> 32));
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

}  // namespace

std::uint32_t digest(const PlanShape& shape) {
  Hash hash;
  hash.text(shape.algorithm);
  hash.byte(static_cast<std::uint8_t>(shape.collective));
  hash.number(shape.ranks);
  hash.number(static_cast<std::int64_t>(shape.params.size()));
  for (const auto& [name, value] : shape.params) {
    hash.text(name);
    hash.text(to_text(value));
  }
  hash.number(shape.input_blocks);
  hash.number(shape.output_blocks);
  hash.number(static_cast<std::int64_t>(shape.channels.size()));
  for (const Channel& channel : shape.channels) {
    hash.number(channel.slots);
    hash.byte(static_cast<std::uint8_t>(channel.width));
  }
  hash.byte(static_cast<std::uint8_t>(shape.equal_counts + 2 * shape.in_place));
  return hash.result();
}

}  // namespace weft
