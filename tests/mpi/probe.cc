#include "probe.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "fabric/mpi/library.h"

namespace weft::mpi {
namespace {

void check(bool right, const std::string& what) {
  if (!right) throw InternalError("wrong: " + what);
}

struct Job {
  const Mpi& mpi;
  Comm comm;
  int rank, size;
  void wait(Request request) const {
    while (!mpi.test(request)) continue;
  }
};

// All ranks in reverse order, so that ranks are not those of the world.
Comm reversed(const Mpi& mpi) {
  std::vector<int> ranks(mpi.size(mpi.world()));
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  Group all = mpi.group(mpi.world());
  Group chosen = mpi.include(all, ranks);
  const Comm comm = mpi.create_group(mpi.world(), chosen, 5);
  mpi.free(chosen);
  mpi.free(all);
  mpi.return_errors(comm);
  return comm;
}

constexpr std::size_t kBytes = 512;
using Packet = std::array<unsigned char, kBytes>;

// Each rank sends to the next, and has four receives open for the one before it.
void ring(const Job& job) {
  constexpr int kMessages = 200, kOpen = 4;
  const int next = (job.rank + 1) % job.size, before = (job.rank + job.size - 1) % job.size;
  std::array<Packet, kOpen> in{};
  std::array<Request, kOpen> requests{};
  const auto open = [&](int at) {
    requests[at] = job.mpi.irecv(in[at].data(), kBytes, before, 7, job.comm);
  };
  for (int at = 0; at < kOpen; ++at) open(at);
  Packet out{};
  Request sent;
  int sends = 0, total = 0;
  while (total < kMessages || sends < kMessages || !job.mpi.test(sent)) {
    if (sends < kMessages && sends < total + kOpen && job.mpi.test(sent)) {
      out.fill(static_cast<unsigned char>(sends++));
      sent = job.mpi.isend(out.data(), kBytes, next, 7, job.comm);
    }
    const int at = total % kOpen;  // they come in the order sent
    Status status;
    if (total == kMessages || !job.mpi.test(requests[at], &status)) continue;
    check(status.source == before && status.tag == 7, "source or tag in the ring");
    check(status.bytes == kBytes, "length in the ring");
    check(in[at][kBytes - 1] == static_cast<unsigned char>(total), "ring's bytes");
    if (++total + kOpen <= kMessages) open(at);
  }
}

void probes(const Job& job) {
  Status status;
  Packet out{}, in{};
  Request sent = job.mpi.isend(out.data(), 100, job.rank, 3, job.comm);
  while (!job.mpi.iprobe(job.rank, 3, job.comm, status)) continue;
  check(status.bytes == 100 && status.tag == 3 && status.source == job.rank, "iprobe");
  Request received = job.mpi.irecv(in.data(), kBytes, job.rank, 3, job.comm);
  while (!job.mpi.test(received, &status)) continue;
  check(status.bytes == 100 && !status.cancelled, "irecv");
  job.mpi.wait(sent);
  Request never = job.mpi.irecv(in.data(), kBytes, job.rank, 4, job.comm);
  job.mpi.cancel(never);
  job.mpi.wait(never, &status);
  check(status.cancelled && !never, "cancel");
}

void reductions(const Job& job) {
  const Datatype f32 = job.mpi.type_of(DType::kF32), i64 = job.mpi.type_of(DType::kI64);
  const Op sum = job.mpi.op_of(ReduceOp::kSum), max = job.mpi.op_of(ReduceOp::kMax);
  check(!job.mpi.type_of(DType::kBF16) && !job.mpi.op_of(ReduceOp::kAvg), "what MPI does not have");
  const int total = job.size * (job.size + 1) / 2;
  std::vector<float> mine(1000, job.rank + 1.f), all(1000);
  job.wait(job.mpi.iallreduce(mine.data(), all.data(), 1000, f32, sum, job.comm));
  check(all[0] == total && all[999] == total, "iallreduce");
  const std::vector<std::int64_t> ranks(job.size * 2, job.rank);
  std::vector<std::int64_t> result(job.size * 2, -1);
  job.wait(job.mpi.ireduce(ranks.data(), result.data(), 2, i64, max, 0, job.comm));
  check(result[1] == (job.rank == 0 ? job.size - 1 : -1), "ireduce");
  job.wait(job.mpi.ireduce_scatter_block(ranks.data(), result.data(), 2, i64, sum, job.comm));
  check(result[1] == total - job.size, "ireduce_scatter_block");
  std::vector<int> counts(job.size, 1);
  counts[0] = job.size + 1;
  job.wait(job.mpi.ireduce_scatter(ranks.data(), result.data(), counts, i64, max, job.comm));
  check(result[0] == job.size - 1, "ireduce_scatter");
}

void exchanges(const Job& job) {
  const Datatype i32 = job.mpi.type_of(DType::kI32);
  const int n = job.size;
  std::vector<int> mine(n), all(n, -1), ones(n, 1), places(n), to_all(n, job.rank);
  std::iota(mine.begin(), mine.end(), 100 * job.rank);
  std::iota(places.begin(), places.end(), 0);
  job.wait(job.mpi.iallgather(&job.rank, all.data(), 1, i32, job.comm));
  check(all == places, "iallgather");
  std::fill(all.begin(), all.end(), -1);
  job.wait(job.mpi.iallgatherv(&job.rank, 1, all.data(), {ones, places}, i32, job.comm));
  check(all == places, "iallgatherv");
  job.wait(
      job.mpi.ialltoallv(mine.data(), {ones, places}, all.data(), {ones, places}, i32, job.comm));
  for (int i = 0; i < n; ++i) check(all[i] == 100 * i + job.rank, "ialltoallv");
  job.wait(job.mpi.igatherv(&job.rank, 1, all.data(), {ones, places}, i32, n - 1, job.comm));
  check(job.rank != n - 1 || all == places, "igatherv");
  int one = -1;
  job.wait(job.mpi.iscatterv(places.data(), {ones, places}, &one, 1, i32, 0, job.comm));
  check(one == job.rank, "iscatterv");
  std::array<char, 6> word{};
  if (job.rank == 0) std::memcpy(word.data(), "hello", 6);
  job.wait(job.mpi.ibcast(word.data(), 6, job.mpi.bytes(), 0, job.comm));
  check(std::strcmp(word.data(), "hello") == 0, "ibcast");
  job.wait(job.mpi.ibarrier(job.comm));
}

template <typename F>
void expect_failure(const std::string& what, const F& call) {
  try {
    call();
  } catch (const Failure& failure) {
    check(std::string(failure.what()).size() > what.size() + 8 && failure.code != 0, what);
    return;
  }
  check(false, what + " did not fail");
}

void too_many_elements(const Job& job) {
  char data = 0;
  try {
    job.mpi.ibcast(&data, std::size_t{1} << 31, job.mpi.bytes(), 0, job.comm);
  } catch (const InvalidArgument& error) {
    return check(std::string(error.what()).find("2147483647") != std::string::npos, "the limit");
  }
  check(false, "more than an int holds did not fail");
}

void failing_call(const Job& job) {
  Packet packet{};
  expect_failure("a rank too high",
                 [&] { job.mpi.isend(packet.data(), 8, job.size + 7, 0, job.comm); });
}

void failing_request(const Job& job) {
  Packet packet{}, in{};
  Request sent = job.mpi.isend(packet.data(), 100, job.rank, 9, job.comm);
  const Request received = job.mpi.irecv(in.data(), 10, job.rank, 9, job.comm);
  expect_failure("a message too long", [&] { job.wait(received); });
  job.mpi.wait(sent);
}

}  // namespace
}  // namespace weft::mpi

int weft_mpi_probe(int errors) try {
  using namespace weft::mpi;
  const Mpi& mpi = library();
  Comm comm = reversed(mpi);
  const Job job{mpi, comm, mpi.rank(comm), mpi.size(comm)};
  weft::mpi::check(job.rank == job.size - 1 - mpi.rank(mpi.world()), "reversed ranks");
  weft::mpi::check(mpi.comm_of(reinterpret_cast<std::uintptr_t>(comm.bits)) == comm, "comm_of");
  ring(job);
  probes(job);
  reductions(job);
  exchanges(job);
  too_many_elements(job);
  if (errors > 0) failing_call(job);
  if (errors > 1) failing_request(job);
  mpi.free(comm);
  std::printf("rank %d of %d: ok, %s interface, %s, %s\n", job.rank, job.size,
              std::string(mpi.abi().name).c_str(), name_of(mpi.query_thread()),
              mpi.file().path.c_str());
  return std::fflush(stdout);
} catch (const std::exception& error) {
  std::printf("error: %s\n", error.what());
  std::fflush(stdout);
  return 1;
}
