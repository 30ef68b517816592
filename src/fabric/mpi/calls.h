// Mpi over a library whose handles are `H`: int (MPICH) or void* (Open MPI, the standard). Its
// functions are in calls.cc, calls_messages.h and calls_collectives.h; nothing else includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "fabric/mpi/functions.h"
#include "fabric/mpi/mpi.h"

namespace weft::mpi {

template <typename H>
class Calls final : public Mpi {
 public:
  Calls(const File& file, const Abi& abi) : file_(file), abi_(abi), f_(file_) {}

  const File& file() const override { return file_; }
  const Abi& abi() const override { return abi_; }

  bool initialized() const override;
  bool finalized() const override;
  Level init_thread(Level wanted) const override;
  Level query_thread() const override;
  void finalize() const override { f_.finalize(); }

  Comm world() const override { return {abi_.world}; }
  Comm self() const override { return {abi_.self}; }
  Comm comm_of(std::uintptr_t handle) const override;
  bool is_inter(Comm comm) const override;
  int rank(Comm comm) const override;
  int size(Comm comm) const override;
  void return_errors(Comm comm) const override;
  Group group(Comm comm) const override;
  Group include(Group group, std::span<const int> ranks) const override;
  Comm copy(Comm comm) const override;
  Comm create_group(Comm comm, Group group, int tag) const override;
  std::vector<int> translate(Group group, Group among) const override;
  void free(Comm& comm) const override;
  void free(Group& group) const override;

  Request isend(const void* data, std::size_t bytes, int to, int tag, Comm comm) const override;
  Request irecv(void* data, std::size_t bytes, int from, int tag, Comm comm) const override;
  bool iprobe(int from, int tag, Comm comm, Status& status) const override;
  bool test(Request& request, Status* status) const override;
  void wait(Request& request, Status* status) const override;
  void cancel(Request& request) const override;
  void free(Request& request) const override;

  Datatype type_of(DType dtype) const override;
  Op op_of(ReduceOp op) const override;
  Datatype bytes() const override { return {abi_.byte}; }

  Request ibarrier(Comm comm) const override;
  Request ibcast(void* data, std::size_t count, Datatype type, int root, Comm comm) const override;
  Request iallreduce(const void* in, void* out, std::size_t count, Datatype type, Op op,
                     Comm comm) const override;
  Request ireduce(const void* in, void* out, std::size_t count, Datatype type, Op op, int root,
                  Comm comm) const override;
  Request ireduce_scatter_block(const void* in, void* out, std::size_t count, Datatype type, Op op,
                                Comm comm) const override;
  Request ireduce_scatter(const void* in, void* out, std::span<const int> counts, Datatype type,
                          Op op, Comm comm) const override;
  Request iallgather(const void* in, void* out, std::size_t count, Datatype type,
                     Comm comm) const override;
  Request iallgatherv(const void* in, std::size_t count, void* out, Parts parts, Datatype type,
                      Comm comm) const override;
  Request ialltoallv(const void* in, Parts sent, void* out, Parts received, Datatype type,
                     Comm comm) const override;
  Request igatherv(const void* in, std::size_t count, void* out, Parts parts, Datatype type,
                   int root, Comm comm) const override;
  Request iscatterv(const void* in, Parts parts, void* out, std::size_t count, Datatype type,
                    int root, Comm comm) const override;

 private:
  static H native(void* bits) {
    if constexpr (std::is_same_v<H, int>) {
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(bits));
    } else {
      return bits;
    }
  }
  static void* bits_of(H handle) {
    if constexpr (std::is_same_v<H, int>) {
      return reinterpret_cast<void*>(std::uintptr_t{static_cast<unsigned>(handle)});
    } else {
      return handle;
    }
  }
  // MPI would crash on a handle that is none.
  template <typename Kind>
  static H native(Handle<Kind> handle) {
    if (!handle) throw InvalidArgument("mpi: a null communicator, group, type or reduction");
    return native(handle.bits);
  }
  // MPI's null is ours.
  Request request_of(H handle) const {
    return {bits_of(handle) == abi_.no_request ? nullptr : bits_of(handle)};
  }

  // Begins what `function` begins, whose last argument is the request.
  template <typename F, typename... Args>
  Request begin(const F& function, Args... args) const {
    H request = native(abi_.no_request);
    function(args..., &request);
    return request_of(request);
  }
  Level level_of(int number) const;
  Status status_of(const void* raw) const;

  const File file_;
  const Abi abi_;
  const Functions<H> f_;
};

}  // namespace weft::mpi
