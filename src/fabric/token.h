// The name of one fabric: 128 random bits, so that nobody meets or guesses another's.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct Token {
  std::array<std::uint8_t, 16> bytes{};

  static Token random();
  static std::optional<Token> parse(std::string_view hex);
  std::string hex() const;  // 32 lower-case digits
  auto operator<=>(const Token&) const = default;
};

}  // namespace weft
