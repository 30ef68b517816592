// What tests of windows run on: ranks over each fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "conformance/fabrics.h"
#include "support/ranks.h"
#include "weft/window.h"

namespace weft::testing {

using Bytes = std::vector<std::uint8_t>;

class OnWindows : public ::testing::TestWithParam<FabricKind> {
 protected:
  static Adjust over(const FabricKind& kind) {
    return [kind](int, CommunicatorOptions& options) { options.fabric = kind.make(); };
  }
  void run(int ranks, const std::function<void(Communicator&)>& body) const {
    run_ranks(ranks, body, over(GetParam()));
  }
  std::vector<std::exception_ptr> fail(
      int ranks, const std::function<void(Communicator&)>& body,
      std::chrono::milliseconds timeout = std::chrono::seconds(20)) const {
    return try_ranks(ranks, body, timeout, over(GetParam()));
  }
};

// What rank `from` puts to rank `to`.
inline Bytes values(int from, int to, std::size_t bytes) {
  Bytes x(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    x[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + static_cast<std::size_t>(from * 31 + to));
  return x;
}

}  // namespace weft::testing
