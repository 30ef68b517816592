// Calls: collectives that do not wait.
#pragma once

#include "fabric/mpi/calls.h"

namespace weft::mpi {

template <typename H>
Datatype Calls<H>::type_of(DType dtype) const {
  return {abi_.datatypes[static_cast<std::size_t>(dtype)]};
}

template <typename H>
Op Calls<H>::op_of(ReduceOp op) const {
  return {abi_.ops[static_cast<std::size_t>(op)]};
}

template <typename H>
Request Calls<H>::ibarrier(Comm comm) const {
  return begin(f_.ibarrier, native(comm));
}

template <typename H>
Request Calls<H>::ibcast(void* data, std::size_t count, Datatype type, int root, Comm comm) const {
  return begin(f_.ibcast, data, to_int(count), native(type), root, native(comm));
}

template <typename H>
Request Calls<H>::iallreduce(const void* in, void* out, std::size_t count, Datatype type, Op op,
                             Comm comm) const {
  return begin(f_.iallreduce, in, out, to_int(count), native(type), native(op), native(comm));
}

template <typename H>
Request Calls<H>::ireduce(const void* in, void* out, std::size_t count, Datatype type, Op op,
                          int root, Comm comm) const {
  return begin(f_.ireduce, in, out, to_int(count), native(type), native(op), root, native(comm));
}

template <typename H>
Request Calls<H>::ireduce_scatter_block(const void* in, void* out, std::size_t count, Datatype type,
                                        Op op, Comm comm) const {
  return begin(f_.ireduce_scatter_block, in, out, to_int(count), native(type), native(op),
               native(comm));
}

template <typename H>
Request Calls<H>::ireduce_scatter(const void* in, void* out, std::span<const int> counts,
                                  Datatype type, Op op, Comm comm) const {
  return begin(f_.ireduce_scatter, in, out, counts.data(), native(type), native(op), native(comm));
}

template <typename H>
Request Calls<H>::iallgather(const void* in, void* out, std::size_t count, Datatype type,
                             Comm comm) const {
  return begin(f_.iallgather, in, to_int(count), native(type), out, to_int(count), native(type),
               native(comm));
}

template <typename H>
Request Calls<H>::iallgatherv(const void* in, std::size_t count, void* out, Parts parts,
                              Datatype type, Comm comm) const {
  return begin(f_.iallgatherv, in, to_int(count), native(type), out, parts.counts.data(),
               parts.displacements.data(), native(type), native(comm));
}

template <typename H>
Request Calls<H>::ialltoallv(const void* in, Parts sent, void* out, Parts received, Datatype type,
                             Comm comm) const {
  return begin(f_.ialltoallv, in, sent.counts.data(), sent.displacements.data(), native(type), out,
               received.counts.data(), received.displacements.data(), native(type), native(comm));
}

template <typename H>
Request Calls<H>::igatherv(const void* in, std::size_t count, void* out, Parts parts, Datatype type,
                           int root, Comm comm) const {
  return begin(f_.igatherv, in, to_int(count), native(type), out, parts.counts.data(),
               parts.displacements.data(), native(type), root, native(comm));
}

template <typename H>
Request Calls<H>::iscatterv(const void* in, Parts parts, void* out, std::size_t count,
                            Datatype type, int root, Comm comm) const {
  return begin(f_.iscatterv, in, parts.counts.data(), parts.displacements.data(), native(type), out,
               to_int(count), native(type), root, native(comm));
}

}  // namespace weft::mpi
