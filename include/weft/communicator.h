// The C++ interface: a group of ranks that run collectives together.
//
//   auto comm = weft::Communicator::create(weft::file_store("/tmp/job42"), rank, size);
//   comm->allreduce(x.data(), x.data(), x.size(), weft::DType::kF32, weft::ReduceOp::kSum);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/call.h"
#include "weft/error.h"
#include "weft/request.h"
#include "weft/store.h"
#include "weft/types.h"
#include "weft/workers.h"

namespace weft {

class Fabric;
struct WindowGround;

struct CommunicatorOptions {
  // The longest time of a wait. After it every rank that waits throws Timeout.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  // The fabric to use. Null: one of this process, see `fabric_name`. Threads that act as ranks each
  // give one of their own.
  std::shared_ptr<Fabric> fabric;
  // Called about 50 times a second on a thread that waits in a call of this communicator. An
  // exception from it ends that wait. The operation of a Request goes on. An interrupted collective
  // without a Request ends the communicator.
  std::function<void()> interrupt = {};
  // Sums of floating and complex elements get the same bits for every algorithm, chunk, root,
  // placement and instruction set. They follow one tree over the ranks in order, in float32 under
  // f16 and bf16, and are rounded once. Holds for all ranks if any of them asks for it, here or by
  // WEFT_REPRODUCIBLE=1.
  // A named algorithm that adds up in another order is refused with Unsupported.
  bool reproducible = false;
  // The tuning file (docs/selection.md) by which algorithms are chosen; "none" for none. Empty:
  // WEFT_TUNING, or the user's own. Rank 0's holds for all ranks; the others' are not read.
  std::string tuning = {};
  // The fabric of process_fabric() to use, equal on all ranks.
  // Empty: WEFT_FABRIC; if that is not set, shm where it reaches all ranks, else shm+ofi.
  std::string fabric_name = {};
  // "bfloat16": float32 sums and averages of allreduce and reduce_scatter cross nodes in bf16, in
  // half the bytes, and are added up in float32 (docs/algorithms.md says what is rounded). Those of
  // bf16 cross in bf16 where the algorithm has the choice, in place of float32. "none": they do
  // not. Equal on all ranks. Empty: WEFT_WIRE. A named algorithm that does not support it is
  // refused with Unsupported. Not together with `reproducible`.
  std::string wire = {};
  // Where communicators of one fabric have calls under way at the same time, those of the highest
  // priority go first. Whenever they can go, a call of a lower priority stops at the end of a
  // chunk. With a priority other than 0 chunks are short. Equal on all ranks, else InvalidArgument
  // on all.
  int priority = 0;
  // The thread that carries on asynchronous calls. The communicators of a fabric share it: the
  // first one says what it is like, and a later one that asks for another throws InvalidArgument.
  // Each rank's own.
  WorkerOptions workers = {};
};

inline constexpr int kAnySource = -1;

// Thread safe, but two threads that call collectives on one communicator at the same
// time must agree on their order with the other ranks. After PeerLost, Timeout, Mismatch
// or abort() every further call throws Aborted with the first cause.
class Communicator {
 public:
  // Collective over the `size` ranks that share `store`. Throws Timeout naming the ranks
  // that did not come, Mismatch naming a rank of another version of Weft. If another error occurs
  // on one rank (InvalidArgument, Unsupported, PeerLost, Timeout), all ranks throw it, with that
  // rank's number.
  static std::shared_ptr<Communicator> create(std::shared_ptr<Store> store, int rank, int size,
                                              CommunicatorOptions options = {});
  // The same over the members of one of the program's MPI communicators, in its order; no other
  // rank takes part. `handle`: the library's own, as MPI_Comm is in C and MPI._handleof(comm) in
  // mpi4py. MPI has to be initialised. The fabrics "mpi" and "shm+mpi" are then over these members
  // alone. The communicator is left as it is. All members have to call it: MPI waits for them
  // without a deadline. Throws InvalidArgument for a null communicator or one between two groups;
  // Unsupported if Weft has loaded another MPI than the program.
  static std::shared_ptr<Communicator> from_mpi(std::uintptr_t handle,
                                                CommunicatorOptions options = {});
  // Waits until peers have read what was sent to them, then leaves. In a forked child it does
  // nothing: it belongs to the parent.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  std::chrono::milliseconds timeout() const;
  void set_timeout(std::chrono::milliseconds timeout);
  int priority() const;  // see CommunicatorOptions
  const std::shared_ptr<Fabric>& fabric() const;
  // The node of each rank. Nodes count from 0 in the order of their first ranks. Ranks of one node
  // have the same kernel, network namespace and WEFT_NODE, which sharing memory needs.
  const std::vector<int>& place() const;
  // Whether some machine has more ranks than cores that they may use. Equal on all ranks.
  bool crowded() const;

  // Runs on the calling thread, after everything submitted before has finished.
  void run(const Call& call);
  // Returns at once. It finishes also if no thread waits for it.
  Request submit(const Call& call);

  // Point to point, matched by (source, tag) in the order sent; tags count from 0. Transfers and
  // collectives do not wait for each other. Both sides must give the same count and dtype. A
  // receiver that sees a difference throws Mismatch, the sender Aborted with its text.
  Request isend(const void* data, std::size_t count, DType dtype, int destination, int tag = 0);
  // source: a rank or kAnySource.
  Request irecv(void* data, std::size_t count, DType dtype, int source, int tag = 0);
  // The same for messages of Weft itself, such as those of torch's monitored_barrier. Their tags
  // never meet a user's.
  Request isend_reserved(const void* data, std::size_t count, DType dtype, int destination,
                         int tag);
  Request irecv_reserved(void* data, std::size_t count, DType dtype, int source, int tag);

  // Collective: ranks with the same color form a new communicator, ordered by (key, rank).
  // Null for a negative color. `priority`: see CommunicatorOptions; by default this one's. If ranks
  // with the same color give different ones, all ranks throw InvalidArgument, and this communicator
  // goes on.
  std::shared_ptr<Communicator> split(int color, int key, std::optional<int> priority = {});

  // Ends everything that is in flight here and on the peers. The peers see Aborted with `why`, also
  // in a call that this rank has finished, if they wait in it for another rank.
  void abort(const std::string& why);

  // For the end of a process: waits until everything submitted has finished and its callbacks have
  // been called. At the deadline the rest is aborted, and the communicator with it.
  void settle(std::chrono::steady_clock::time_point deadline);

  // Before leaving: throws Mismatch if a peer has sent something that no call here has received. An
  // example is two ranks that both name themselves the root of a broadcast. It sees only messages
  // that have arrived by then.
  void check_leftovers();

  // The algorithm that a call would use, as "allreduce/ring" or "allreduce/ring(chunk=64K)".
  std::string algorithm_for(const Call& call) const;

  // Named shorthands of run().
  void allreduce(const void* input, void* output, std::size_t count, DType dtype, ReduceOp op) {
    run({Collective::kAllreduce, input, output, count, dtype, op});
  }
  void broadcast(void* data, std::size_t count, DType dtype, int root) {
    run({Collective::kBroadcast, data, data, count, dtype, ReduceOp::kSum, root});
  }
  void allgather(const void* input, void* output, std::size_t count, DType dtype) {
    run({Collective::kAllgather, input, output, count, dtype});
  }
  void reduce_scatter(const void* input, void* output, std::size_t count, DType dtype,
                      ReduceOp op) {
    run({Collective::kReduceScatter, input, output, count, dtype, op});
  }
  void alltoall(const void* input, void* output, std::size_t count, DType dtype) {
    run({Collective::kAlltoall, input, output, count, dtype});
  }
  void barrier() { run({}); }
  void send(const void* data, std::size_t count, DType dtype, int destination, int tag = 0);
  // Returns the rank that sent.
  int recv(void* data, std::size_t count, DType dtype, int source, int tag = 0);

  // Collectives started so far, equal on all ranks between calls.
  std::uint64_t sequence() const;

  struct Impl;

 private:
  friend class Window;
  explicit Communicator(std::unique_ptr<Impl> impl);
  // Collective: everyone's words, in rank order.
  std::vector<std::string> exchange_words(const std::string& mine);
  WindowGround window_ground();

  std::unique_ptr<Impl> impl_;
};

// A fabric for a rank that is a thread of this process.
std::shared_ptr<Fabric> make_shm_fabric();
// The same over the network, by libfabric: see docs/hosts.md. Throws Unsupported saying what is
// missing.
std::shared_ptr<Fabric> make_ofi_fabric();
// Both: shared memory within a node, libfabric across. `node`: as WEFT_NODE; fabrics of one process
// that name different nodes reach each other over the network.
std::shared_ptr<Fabric> make_spanning_fabric(const std::string& node = {});
// The fabric that all communicators of this process share, made when first asked for: "shm", "ofi",
// "mpi", "shmem", or shared memory beside another, "shm+ofi", "shm+mpi", "shm+shmem". One of MPI or
// OpenSHMEM is made by all ranks of the job at the same time, and kept until the process ends.
// Throws InvalidArgument for another name, Unsupported.
std::shared_ptr<Fabric> process_fabric(const std::string& name = "shm");

// Memory that peers read and write directly, so that collectives on it copy once.
// Freed when the last reference goes. Zeroed, page aligned. In a forked child it behaves like other
// memory: the child's writes stay its own. But pages that the child has not written show what the
// parent writes later.
std::shared_ptr<void> symmetric_alloc(Fabric& fabric, std::size_t bytes);
// Whether all of the `bytes` bytes at `data` are in one piece of the fabric's symmetric memory.
bool is_symmetric(const Fabric& fabric, const void* data, std::size_t bytes);

}  // namespace weft
