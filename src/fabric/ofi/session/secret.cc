#include "fabric/ofi/session/secret.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "base/environment.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// As OpenSSL 1.1 and 3 declare them; found at run time, because few need them.
struct Crypto {
  const void* (*sha256)() = nullptr;
  unsigned char* (*hmac)(const void* hash, const void* key, int key_bytes,
                         const unsigned char* data, std::size_t bytes, unsigned char* out,
                         unsigned int* out_bytes) = nullptr;
};

Crypto load() {
  for (const char* file : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    Crypto crypto;
    crypto.sha256 = reinterpret_cast<decltype(crypto.sha256)>(::dlsym(library, "EVP_sha256"));
    crypto.hmac = reinterpret_cast<decltype(crypto.hmac)>(::dlsym(library, "HMAC"));
    if (crypto.sha256 && crypto.hmac) return crypto;
  }
  throw Unsupported(
      "ofi: WEFT_SECRET is set, but OpenSSL's libcrypto, which it needs, cannot be loaded; install "
      "it (Debian, Ubuntu: libssl3)");
}

const Crypto& crypto() {
  static const Crypto loaded = load();
  return loaded;
}

}  // namespace

Secret Secret::from_environment() {
  std::string secret = Environment::read().secret;
  if (!secret.empty()) (void)crypto();
  return Secret(std::move(secret));
}

std::string Secret::sign(std::initializer_list<std::string_view> words) const {
  if (key_.empty()) return {};
  std::string text;
  for (std::string_view word : words) {
    text += std::to_string(word.size()) + ':';
    text += word;
  }
  std::array<unsigned char, 64> code{};
  unsigned int bytes = 0;
  if (!crypto().hmac(crypto().sha256(), key_.data(), static_cast<int>(key_.size()),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), code.data(),
                     &bytes)) {
    throw InternalError("ofi: libcrypto does not sign");
  }
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (unsigned int i = 0; i < bytes; ++i) {
    digits += kDigits[code[i] >> 4];
    digits += kDigits[code[i] & 15];
  }
  return digits;
}

bool Secret::signed_by(std::string_view signature,
                       std::initializer_list<std::string_view> words) const {
  const std::string right = sign(words);
  if (signature.size() != right.size()) return false;
  int differing = 0;
  for (std::size_t i = 0; i < right.size(); ++i) differing |= signature[i] ^ right[i];
  return differing == 0;
}

}  // namespace weft::ofi
