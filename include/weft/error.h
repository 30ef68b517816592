// Everything Weft throws. Recoverable conditions have a type of their own;
// a broken invariant inside Weft is an InternalError.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

// Base of all errors. `what()` names the rank, the argument or peer, and the remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument that this rank alone can see is wrong. The communicator stays usable.
class InvalidArgument : public Error {
  using Error::Error;
};

// The request is well formed, but this build, fabric or dtype does not support it.
// The communicator stays usable.
class Unsupported : public Error {
  using Error::Error;
};

// Two ranks called different collectives, or the same with other arguments.
// The communicator is dead afterwards.
class Mismatch : public Error {
  using Error::Error;
};

// A peer died or left while it was needed. The communicator is dead afterwards.
class PeerLost : public Error {
  using Error::Error;
};

// A wait ran past its deadline. The communicator is dead afterwards.
class Timeout : public Error {
  using Error::Error;
};

// Another rank, or the user, ended this communicator. `what()` carries the first cause.
class Aborted : public Error {
  using Error::Error;
};

// A plan that cannot be run or that the verifier refused.
class InvalidPlan : public Error {
  using Error::Error;
};

// A bug in Weft.
class InternalError : public Error {
  using Error::Error;
};

}  // namespace weft
