// The secret of a job, by which its ranks know each other.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace weft::ofi {

// Copies share it. Thread safe.
class Secret {
 public:
  // WEFT_SECRET; empty: there is none, and signatures are empty. Throws Unsupported if there is one
  // and OpenSSL's libcrypto, which signs, is not.
  static Secret from_environment();

  bool given() const { return !key_.empty(); }
  // HMAC-SHA256 (RFC 2104) of the words under the secret, 64 hexadecimal digits.
  std::string sign(std::initializer_list<std::string_view> words) const;
  // Whether `signature` is that, in a time that does not tell how much of it is right.
  bool signed_by(std::string_view signature, std::initializer_list<std::string_view> words) const;

 private:
  explicit Secret(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace weft::ofi
