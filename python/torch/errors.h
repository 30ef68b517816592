// Weft's errors as the exceptions that torch turns into Python's.
//
//   Weft                                     c10                    Python
//   InvalidArgument                          BadArgument            weft.InvalidArgument
//   Unsupported                              NotImplementedError    NotImplementedError
//   Mismatch, PeerLost, Timeout, Aborted     DistBackendError torch.distributed.DistBackendError
//   any other                                Error                  RuntimeError
//
// All are RuntimeErrors in Python, as those of torch's own backends are.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

#include "weft/error.h"

namespace weft::torch_adapter {

// In Python RuntimeError and ValueError, by weft.errors; where torch translates it by itself,
// RuntimeError alone.
class BadArgument : public c10::Error {
 public:
  explicit BadArgument(std::string text) : Error({"weft", __FILE__, __LINE__}, std::move(text)) {}
};

// `thrown` in torch's type with the same text; anything that is not Weft's as it is.
std::exception_ptr translated(const std::exception_ptr& thrown);

// What `body` returns; what it throws is translated.
template <typename Body>
decltype(auto) translating(Body&& body) {
  try {
    return body();
  } catch (const Error&) {
    std::rethrow_exception(translated(std::current_exception()));
  }
}

}  // namespace weft::torch_adapter
