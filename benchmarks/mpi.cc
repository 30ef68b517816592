// Any MPI: `mpiexec -n RANKS driver DIRECTORY`. An error of MPI ends the job, as is its default.
#include <mpi.h>

#include <climits>
#include <stdexcept>

#include "driver.h"
#include "pattern.h"

namespace {

MPI_Datatype type_of(const std::string& dtype) {
  if (dtype == "float32") return MPI_FLOAT;
  if (dtype == "float64") return MPI_DOUBLE;
  if (dtype == "int8") return MPI_INT8_T;
  if (dtype == "uint8") return MPI_UINT8_T;
  if (dtype == "int16") return MPI_INT16_T;
  if (dtype == "uint16") return MPI_UINT16_T;
  if (dtype == "int32") return MPI_INT32_T;
  if (dtype == "uint32") return MPI_UINT32_T;
  if (dtype == "int64") return MPI_INT64_T;
  if (dtype == "uint64") return MPI_UINT64_T;
  if (dtype == "complex64") return MPI_C_FLOAT_COMPLEX;
  if (dtype == "complex128") return MPI_C_DOUBLE_COMPLEX;
  throw std::runtime_error("MPI has no type for " + dtype + ": leave the MPIs out of --peers");
}

class Mpi : public bench::Library {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const { return rank_; }

  void bind(const bench::Case& c, const void* input, void* output) override {
    if (c.count > INT_MAX) throw std::runtime_error("MPI counts elements in an int");
    const int n = static_cast<int>(c.count);
    const MPI_Datatype type = c.collective == "barrier" ? MPI_BYTE : type_of(c.dtype);
    operation_ = c.parts.empty() ? operation(c.collective, input, output, n, type)
                                 : in_parts(c, static_cast<std::byte*>(output), type);
  }

  void operate() override { operation_(); }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  // An allreduce in parts: by MPI_Allreduce, or by MPI_Iallreduce for all of them together.
  static std::function<void()> in_parts(const bench::Case& c, std::byte* data, MPI_Datatype type) {
    return [parts = c.parts, together = c.together, item = bench::item_bytes(c.dtype), data, type,
            requests = std::vector<MPI_Request>(c.parts.size())]() mutable {
      std::byte* at = data;
      for (std::size_t i = 0; i < parts.size(); at += parts[i++] * item) {
        const int n = static_cast<int>(parts[i]);
        if (together)
          MPI_Iallreduce(MPI_IN_PLACE, at, n, type, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        else
          MPI_Allreduce(MPI_IN_PLACE, at, n, type, MPI_SUM, MPI_COMM_WORLD);
      }
      if (together)
        MPI_Waitall(static_cast<int>(parts.size()), requests.data(), MPI_STATUSES_IGNORE);
    };
  }

  std::function<void()> operation(const std::string& name, const void* in, void* out, int n,
                                  MPI_Datatype type) const {
    const MPI_Comm all = MPI_COMM_WORLD;
    if (name == "allreduce")
      return [=] { MPI_Allreduce(MPI_IN_PLACE, out, n, type, MPI_SUM, all); };
    if (name == "broadcast") return [=] { MPI_Bcast(out, n, type, 0, all); };
    if (name == "reduce") return [=] { MPI_Reduce(in, out, n, type, MPI_SUM, 0, all); };
    if (name == "allgather") return [=] { MPI_Allgather(in, n, type, out, n, type, all); };
    if (name == "reduce_scatter")
      return [=] { MPI_Reduce_scatter_block(in, out, n, type, MPI_SUM, all); };
    if (name == "alltoall") return [=] { MPI_Alltoall(in, n, type, out, n, type, all); };
    if (name == "gather") return [=] { MPI_Gather(in, n, type, out, n, type, 0, all); };
    if (name == "scatter") return [=] { MPI_Scatter(in, n, type, out, n, type, 0, all); };
    if (name == "barrier") return [=] { MPI_Barrier(all); };
    if (name != "sendrecv") throw std::runtime_error("mpi.cc does not know " + name);
    const int left = (rank_ + size_ - 1) % size_, right = (rank_ + 1) % size_;
    return
        [=] { MPI_Sendrecv(in, n, type, right, 0, out, n, type, left, 0, all, MPI_STATUS_IGNORE); };
  }

  int rank_ = 0, size_ = 1;
  std::function<void()> operation_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  Mpi mpi;
  const int failed = bench::guarded(mpi.rank(), [&] {
    const bench::Job job = bench::read_job(directory + "/job");
    bench::measure(mpi, job, mpi.rank(), directory);
  });
  MPI_Finalize();
  return failed;
}
