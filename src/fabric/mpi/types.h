// The words of MPI as Weft says them, whichever library has them: opaque handles, messages' status,
// thread levels. Plain values.
#pragma once

#include <cstddef>
#include <string>

#include "weft/error.h"

namespace weft::mpi {

// A handle of the library, in pointer size. Null: none. Each kind is a type of its own.
template <typename Kind>
struct Handle {
  void* bits = nullptr;
  explicit operator bool() const { return bits != nullptr; }
  bool operator==(const Handle&) const = default;
};

using Comm = Handle<struct CommKind>;
using Group = Handle<struct GroupKind>;
using Request = Handle<struct RequestKind>;
using Datatype = Handle<struct DatatypeKind>;
using Op = Handle<struct OpKind>;

// What a probe or a receive has found. Means nothing after a send or a collective.
struct Status {
  int source = -1;
  int tag = -1;
  std::size_t bytes = 0;
  bool cancelled = false;  // nothing was received
};

// Who may call MPI. In rising order.
enum class Level {
  kSingle,      // the process has one thread
  kFunneled,    // the thread that initialised
  kSerialized,  // any thread, one at a time
  kMultiple,    // any thread
};

// "MPI_THREAD_SERIALIZED".
const char* name_of(Level level);

// A call of MPI failed. `what()` has the call and MPI's own text.
class Failure : public Error {
 public:
  Failure(const std::string& text, int code) : Error(text), code(code) {}
  const int code;  // the library's own
};

}  // namespace weft::mpi
