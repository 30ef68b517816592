// What Weft throws, as the exceptions that torch turns into Python's.
//
//   Weft                                     c10                    Python
//   InvalidArgument                          ValueError             ValueError
//   Unsupported                              NotImplementedError    NotImplementedError
//   Mismatch, PeerLost, Timeout, Aborted     DistBackendError torch.distributed.DistBackendError
//   any other                                Error                  RuntimeError
#pragma once

#include <exception>

#include "weft/error.h"

namespace weft::torch_adapter {

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
