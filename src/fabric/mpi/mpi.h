// One MPI library behind one interface, whatever its binary interface. Names, order and meaning of
// arguments are MPI's, except that sizes of messages are in bytes.
//
// Calls throw Failure with MPI's own text, where the communicator returns errors: those that Weft
// makes do (return_errors()). A program's communicators keep the program's choice, by default that
// an error ends the job. For a request that fails while it is tested, Intel MPI asks the handler of
// world() instead.
//
// Thread safe as far as MPI's own level is (query_thread()). No call waits for another rank, unless
// its description says so. Counts above 2^31 - 1 throw InvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/mpi/abi.h"
#include "fabric/mpi/types.h"
#include "weft/types.h"

namespace weft::mpi {

// Elements of a buffer for each rank: how many, and where they start. Both stay valid until the
// call has ended.
struct Parts {
  std::span<const int> counts;
  std::span<const int> displacements;
};

class Mpi {
 public:
  virtual ~Mpi() = default;

  virtual const File& file() const = 0;
  virtual const Abi& abi() const = 0;

  // === The process ===
  virtual bool initialized() const = 0;  // stays true after finalize()
  virtual bool finalized() const = 0;
  virtual Level init_thread(
      Level wanted) const = 0;  // all ranks; what is given. May end the process
  virtual Level query_thread() const = 0;
  virtual void finalize() const = 0;  // all ranks

  // === Communicators ===
  virtual Comm world() const = 0;
  virtual Comm self() const = 0;
  // The one that another user of the library has: mpi4py's MPI._handleof(comm).
  virtual Comm comm_of(std::uintptr_t handle) const = 0;
  virtual bool is_inter(Comm comm) const = 0;  // between two groups
  virtual int rank(Comm comm) const = 0;
  virtual int size(Comm comm) const = 0;
  virtual void return_errors(Comm comm) const = 0;
  virtual Group group(Comm comm) const = 0;  // to be freed
  virtual Group include(Group group, std::span<const int> ranks) const = 0;
  // All members of `comm`, in their order. Waits for them. To be freed.
  virtual Comm copy(Comm comm) const = 0;
  // Waits for the members of `group`, and for no other rank of `comm`. To be freed. Open MPI takes
  // messages of `comm` with this tag for it.
  virtual Comm create_group(Comm comm, Group group, int tag) const = 0;
  // The ranks of a group's members in `among`, in the group's order; below 0: no member there.
  virtual std::vector<int> translate(Group group, Group among) const = 0;
  virtual void free(Comm& comm) const = 0;  // all members; null afterwards
  virtual void free(Group& group) const = 0;

  // === Messages ===
  // The buffer is MPI's until the request has ended: test() or wait().
  virtual Request isend(const void* data, std::size_t bytes, int to, int tag, Comm comm) const = 0;
  // A message that is longer fails the test. The source is named: from any, messages stay away for
  // ever in MPICH 5.0.2 over UCX's TCP.
  virtual Request irecv(void* data, std::size_t bytes, int from, int tag, Comm comm) const = 0;
  // Whether a message is here, which irecv() of as many bytes then gets.
  virtual bool iprobe(int from, int tag, Comm comm, Status& status) const = 0;

  // Whether it has ended: null afterwards. A null request has.
  virtual bool test(Request& request, Status* status = nullptr) const = 0;
  // Waits for the peer. Null afterwards.
  virtual void wait(Request& request, Status* status = nullptr) const = 0;
  // Of a receive: it then ends without the peer, with a message or cancelled; wait() says which.
  virtual void cancel(Request& request) const = 0;
  // It goes on by itself, and nobody hears of its end. Null afterwards.
  virtual void free(Request& request) const = 0;

  // === Collectives ===
  // Elements of Weft's types; null: MPI has no such type (bool, f16, bf16, f8) or reduction
  // (average, premultiplied sum). MPI has no min and max of complex numbers, and bits of integers
  // only.
  virtual Datatype type_of(DType dtype) const = 0;
  virtual Op op_of(ReduceOp op) const = 0;
  virtual Datatype bytes() const = 0;  // moved, never reduced

  // All members call them, in the same order. Counts are of elements; where there is one for many
  // blocks, of each block. They progress in test() of any request. `out` and its parts matter on
  // the root only, where there is a root; `in` and its parts of a scatter as well.
  virtual Request ibarrier(Comm comm) const = 0;
  virtual Request ibcast(void* data, std::size_t count, Datatype type, int root,
                         Comm comm) const = 0;
  virtual Request iallreduce(const void* in, void* out, std::size_t count, Datatype type, Op op,
                             Comm comm) const = 0;
  virtual Request ireduce(const void* in, void* out, std::size_t count, Datatype type, Op op,
                          int root, Comm comm) const = 0;
  virtual Request ireduce_scatter_block(const void* in, void* out, std::size_t count, Datatype type,
                                        Op op, Comm comm) const = 0;
  virtual Request ireduce_scatter(const void* in, void* out, std::span<const int> counts,
                                  Datatype type, Op op, Comm comm) const = 0;
  virtual Request iallgather(const void* in, void* out, std::size_t count, Datatype type,
                             Comm comm) const = 0;
  virtual Request iallgatherv(const void* in, std::size_t count, void* out, Parts parts,
                              Datatype type, Comm comm) const = 0;
  virtual Request ialltoallv(const void* in, Parts sent, void* out, Parts received, Datatype type,
                             Comm comm) const = 0;
  virtual Request igatherv(const void* in, std::size_t count, void* out, Parts parts, Datatype type,
                           int root, Comm comm) const = 0;
  virtual Request iscatterv(const void* in, Parts parts, void* out, std::size_t count,
                            Datatype type, int root, Comm comm) const = 0;
};

// As MPI counts. Throws InvalidArgument above 2^31 - 1.
int to_int(std::size_t count);

// The functions of a library that is loaded. Throws Unsupported if it is none that Weft can call.
std::unique_ptr<Mpi> make_mpi(const File& file);

}  // namespace weft::mpi
