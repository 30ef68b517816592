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

inline Signature signature(int from, std::uint64_t number) {
  Signature signature;
  signature.count = number;
  signature.sequence = static_cast<std::uint32_t>(from);
  signature.scale = 0xbeef;
  return signature;
}

// Message `number` of rank `from`, with its payload for rank `to`, to the member `place` of a lane.
inline void send(Endpoint& lane, int place, int channel, std::uint64_t number, std::size_t bytes,
                 int from, int to) {
  post(lane, place, channel, number, signature(from, number),
       payload(bytes, from, to, number).data(), bytes);
}

// The same is here, from the member `place`.
inline void expect_message(Endpoint& lane, int place, int channel, std::uint64_t number,
                           std::size_t bytes, int from, int to) {
  const Header* const header = lane.arrival(place, channel, number);
  ASSERT_NE(header, nullptr);
  ASSERT_EQ(header->signature, signature(from, number));
  ASSERT_EQ(header->bytes, bytes);
  const auto expected = payload(bytes, from, to, number);
  const Delivery seen = lane.payload(place, channel, number, {});
  ASSERT_EQ(seen.bytes, bytes);
  if (bytes == 0) return;
  ASSERT_EQ(0, std::memcmp(seen.data, expected.data(), bytes)) << bytes << " bytes";
}

}  // namespace weft::testing
