// Point to point: a stream of chunks from rank 0 to rank 1 of a pair.
//
// No other ranks take part. Rank 0 puts chunk after chunk; rank 1 copies each into its output and
// credits it. Four slots: rank 0 fills one while rank 1 empties another.
//
// Steps 1, bytes sent n.
//
// Source: the pipelined rendezvous protocol of message passing, e.g. Buntinas, Mercier, Gropp,
// "Implementation and Shared-Memory Evaluation of MPICH2 over the Nemesis Communication
// Subsystem", EuroPVM/MPI 2006.
#include "algorithms/phases.h"
#include "algorithms/registry.h"

namespace weft {
namespace {

void write_sendrecv_stream(Builder& b) {
  const int ch = b.channel(4);
  b.chunks([&] {
    if (b.rank() == 0) return b.put(b.input(), {1}, ch);
    b.wait(0, ch, b.output());
    b.copy({b.output()}, b.slot(0, ch));
    b.credit(0, ch, b.output());
  });
}

std::string refuses_sendrecv_stream(int ranks, const Params&) {
  if (ranks == 2) return {};
  return "it connects a pair: make its plan for 2 ranks";
}

}  // namespace

Algorithm sendrecv_stream() {
  return {"sendrecv/stream", Collective::kSendRecv,
          "chunks from rank 0 to rank 1 of a pair; 1 step, n bytes", write_sendrecv_stream,
          refuses_sendrecv_stream};
}

}  // namespace weft
