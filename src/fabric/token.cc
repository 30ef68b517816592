#include "fabric/token.h"

#include <sys/random.h>

#include "base/errno_text.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

Token Token::random() {
  Token token;
  // Up to 256 bytes come whole or not at all.
  if (::getrandom(token.bytes.data(), token.bytes.size(), 0) < 0) {
    throw Unsupported("no random numbers for the name of a fabric, " + errno_text("getrandom"));
  }
  return token;
}

std::string Token::hex() const {
  std::string text;
  for (std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Token> Token::parse(std::string_view hex) {
  Token token;
  if (hex.size() != 2 * token.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const std::size_t digit = kDigits.find(hex[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    std::uint8_t& byte = token.bytes[i / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | digit);
  }
  return token;
}

}  // namespace weft
