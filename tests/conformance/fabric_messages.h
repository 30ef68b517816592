// Fabrics in rows, and messages that say what they are.
#pragma once

#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#include "conformance/fabrics.h"

namespace weft::testing {

class FabricTest : public ::testing::TestWithParam<std::tuple<FabricKind, int>> {
 protected:
  const FabricKind& kind() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
  void run(const std::function<void(LaneRank&)>& body) const { run_lane(kind(), ranks(), body); }
};

// Bytes that nobody else sends.
inline std::vector<std::byte> payload(std::size_t bytes, int from, int to, std::uint64_t number) {
  std::vector<std::byte> data(bytes);
  auto value = static_cast<std::uint32_t>(from * 1000003 + to * 7919) + number;
  for (std::byte& byte : data) byte = static_cast<std::byte>((value = value * 69069 + 1) >> 16);
  return data;
}

inline Header header(std::size_t bytes, int from, std::uint64_t number) {
  Header header;
  header.signature.count = number;
  header.signature.sequence = static_cast<std::uint32_t>(from);
  header.signature.scale = 0xbeef;
  header.bytes = static_cast<std::uint32_t>(bytes);
  return header;
}

inline void expect_message(const Arrival& arrival, std::size_t bytes, int from, int to,
                           std::uint64_t number) {
  ASSERT_EQ(arrival.header->signature, header(bytes, from, number).signature);
  ASSERT_EQ(arrival.header->bytes, bytes);
  const auto expected = payload(bytes, from, to, number);
  if (bytes == 0) return;
  ASSERT_EQ(0, std::memcmp(arrival.inlined, expected.data(), bytes)) << bytes << " bytes";
}

}  // namespace weft::testing
