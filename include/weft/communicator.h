// The C++ interface: a group of ranks that run collectives together.
//
//   auto comm = weft::Communicator::create(weft::file_store("/tmp/job42"), rank, size);
//   comm->allreduce(x.data(), x.data(), x.size(), weft::DType::kF32, weft::ReduceOp::kSum);
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/call.h"
#include "weft/error.h"
#include "weft/request.h"
#include "weft/store.h"
#include "weft/types.h"

namespace weft {

class Fabric;

struct CommunicatorOptions {
  // No wait lasts longer; then Timeout is thrown on every rank that waits.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  // The fabric to use. Null: one of this process, see `fabric_name`. Threads that act as ranks give
  // each its own.
  std::shared_ptr<Fabric> fabric;
  // Called about 50 times a second on a thread that waits in a call of this communicator; what
  // it throws ends that wait. A Request's operation goes on; an interrupted collective that
  // has no Request ends the communicator.
  std::function<void()> interrupt = {};
  // Sums of floating and complex elements get the same bits whatever the algorithm, chunks, root,
  // placement and instruction set: one tree over the ranks in order, in float32 under f16 and bf16,
  // rounded once. Holds for all ranks if any of them asks for it, here or by WEFT_REPRODUCIBLE=1.
  // An algorithm that is named and adds up otherwise is refused with Unsupported.
  bool reproducible = false;
  // The tuning file (docs/selection.md) by which algorithms are chosen; "none" for none. Empty:
  // WEFT_TUNING, or the user's own. Rank 0's holds for all ranks; the others' are not read.
  std::string tuning = {};
  // Which of process_fabric()'s to use: "shm", "ofi" or "shm+ofi", equal on all ranks. Empty:
  // WEFT_FABRIC; if that is not set, shm where it reaches all ranks, else shm+ofi.
  std::string fabric_name = {};
  // "bfloat16": float32 sums and averages of allreduce and reduce_scatter cross nodes in bf16, in
  // half the bytes, and are added up in float32 (docs/algorithms.md says what is rounded); "none":
  // they do not. Equal on all ranks. Empty: WEFT_WIRE. An algorithm that is named and cannot is
  // refused with Unsupported. Not together with `reproducible`.
  std::string wire = {};
};

inline constexpr int kAnySource = -1;

// Thread safe, but two threads that call collectives on one communicator at the same
// time must agree on their order with the other ranks. After PeerLost, Timeout, Mismatch
// or abort() every further call throws Aborted with the first cause.
class Communicator {
 public:
  // Collective over the `size` ranks that share `store`. Throws Timeout naming the ranks
  // that did not come, Mismatch naming a rank of another version of Weft. What else fails on one
  // rank (InvalidArgument, Unsupported, PeerLost, Timeout) all throw, with that rank's number.
  static std::shared_ptr<Communicator> create(std::shared_ptr<Store> store, int rank, int size,
                                              CommunicatorOptions options = {});
  // Waits until peers have read what was sent to them, then leaves. In a forked child, whose
  // parent it belongs to, it does nothing.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  std::chrono::milliseconds timeout() const;
  void set_timeout(std::chrono::milliseconds timeout);
  const std::shared_ptr<Fabric>& fabric() const;
  // The node of each rank. Nodes count from 0 in the order of their first ranks; ranks of one have
  // in common what sharing memory takes: kernel, network namespace and WEFT_NODE.
  const std::vector<int>& place() const;

  // Runs on the calling thread after what was submitted before has finished.
  void run(const Call& call);
  // Returns at once; finishes with nobody waiting on it.
  Request submit(const Call& call);

  // Point to point, matched by (source, tag) in the order sent; tags count from 0. It waits for no
  // collective, nor they for it. Both must give the same count and
  // dtype: the receiver that sees a difference throws Mismatch, the sender Aborted with its text.
  Request isend(const void* data, std::size_t count, DType dtype, int destination, int tag = 0);
  // source: a rank or kAnySource.
  Request irecv(void* data, std::size_t count, DType dtype, int source, int tag = 0);
  // The same for messages of Weft's own, such as those of torch's monitored_barrier: no tag of a
  // user's message meets theirs.
  Request isend_reserved(const void* data, std::size_t count, DType dtype, int destination,
                         int tag);
  Request irecv_reserved(void* data, std::size_t count, DType dtype, int source, int tag);

  // Collective: ranks with the same color form a new communicator, ordered by (key, rank).
  // Null for a negative color.
  std::shared_ptr<Communicator> split(int color, int key);

  // Ends all that is in flight here and on the peers, which see Aborted with `why`: also in a call
  // that this rank has finished before, if they wait in it for yet another rank.
  void abort(const std::string& why);

  // Before a process ends: waits until what was submitted has finished and its callbacks have been
  // called. What has not by the deadline is aborted, and so is the communicator then.
  void settle(std::chrono::steady_clock::time_point deadline);

  // Before leaving: throws Mismatch if a peer has sent something that no call here has received, as
  // where two ranks each name themselves the root of a broadcast. It sees what has arrived by then.
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
  explicit Communicator(std::unique_ptr<Impl> impl);
  // Collective: everyone's words, in rank order.
  std::vector<std::string> exchange_words(const std::string& mine);

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
// The fabric that all communicators of this process share: "shm", "ofi" or "shm+ofi", made at first
// need. Throws InvalidArgument for another name, Unsupported.
std::shared_ptr<Fabric> process_fabric(const std::string& name = "shm");

// Memory that peers read and write directly, so that collectives on it copy once.
// Freed when the last reference goes. Zeroed, page aligned. A forked child has it as it has
// other memory: what it writes there stays its own. Pages that it has not written show what the
// parent writes later.
std::shared_ptr<void> symmetric_alloc(Fabric& fabric, std::size_t bytes);
// Whether the `bytes` bytes at `data` lie whole in one piece of the fabric's symmetric memory.
bool is_symmetric(const Fabric& fabric, const void* data, std::size_t bytes);

}  // namespace weft
