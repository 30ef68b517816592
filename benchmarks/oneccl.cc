// oneCCL: `mpiexec -n RANKS driver DIRECTORY`, since by default it moves data through Intel MPI,
// which it initialises itself. Its interface has the operations of deep learning only.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <oneapi/ccl.hpp>
#include <stdexcept>
#include <thread>

#include "driver.h"

namespace {

ccl::datatype type_of(const std::string& dtype) {
  if (dtype == "float32") return ccl::datatype::float32;
  if (dtype == "float64") return ccl::datatype::float64;
  if (dtype == "float16") return ccl::datatype::float16;
  if (dtype == "bfloat16") return ccl::datatype::bfloat16;
  if (dtype == "int8") return ccl::datatype::int8;
  if (dtype == "uint8") return ccl::datatype::uint8;
  if (dtype == "int32") return ccl::datatype::int32;
  if (dtype == "int64") return ccl::datatype::int64;
  throw std::runtime_error("oneCCL has no type for " + dtype + ": leave oneccl out of --peers");
}

// Rank 0 makes the store that oneCCL meets at; a file carries its address.
ccl::communicator connected(int rank, int ranks, const std::string& directory) {
  ccl::init();
  const std::string file = directory + "/oneccl", unfinished = file + ".new";
  ccl::shared_ptr_class<ccl::kvs> store;
  ccl::kvs::address_type address;
  if (rank == 0) {
    store = ccl::create_main_kvs();
    address = store->get_address();
    std::ofstream(unfinished).write(address.data(), static_cast<std::streamsize>(address.size()));
    std::rename(unfinished.c_str(), file.c_str());
  } else {
    while (!std::ifstream(file).read(address.data(), static_cast<std::streamsize>(address.size())))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    store = ccl::create_kvs(address);
  }
  return ccl::create_communicator(ranks, rank, store);
}

class OneCcl : public bench::Library {
 public:
  OneCcl(int rank, int ranks, const std::string& directory)
      : comm_(connected(rank, ranks, directory)) {}

  void bind(const bench::Case& c, const void* input, void* output) override {
    const ccl::datatype type = c.collective == "barrier" ? ccl::datatype::int8 : type_of(c.dtype);
    operation_ = operation(c.collective, const_cast<void*>(input), output, c.count, type);
  }

  void operate() override { operation_(); }
  void barrier() override { ccl::barrier(comm_).wait(); }

 private:
  std::function<void()> operation(const std::string& name, void* in, void* out, std::size_t n,
                                  ccl::datatype type) {
    const auto sum = ccl::reduction::sum;
    if (name == "allreduce")
      return [=, this] { ccl::allreduce(in, out, n, type, sum, comm_).wait(); };
    if (name == "broadcast") return [=, this] { ccl::broadcast(out, n, type, 0, comm_).wait(); };
    if (name == "reduce") return [=, this] { ccl::reduce(in, out, n, type, sum, 0, comm_).wait(); };
    if (name == "allgather") return [=, this] { ccl::allgather(in, out, n, type, comm_).wait(); };
    if (name == "reduce_scatter")
      return [=, this] { ccl::reduce_scatter(in, out, n, type, sum, comm_).wait(); };
    if (name == "alltoall") return [=, this] { ccl::alltoall(in, out, n, type, comm_).wait(); };
    if (name == "barrier") return [this] { barrier(); };
    throw std::runtime_error("oneCCL has no " + name + ": leave oneccl out of --peers");
  }

  ccl::communicator comm_;
  std::function<void()> operation_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* place = std::getenv("PMI_RANK");  // from mpiexec
  if (argc != 2 || !place) return 2;
  const int rank = std::atoi(place);
  const std::string directory = argv[1];
  return bench::guarded(rank, [&] {
    const bench::Job job = bench::read_job(directory + "/job");
    OneCcl oneccl(rank, job.ranks, directory);
    bench::measure(oneccl, job, rank, directory);
  });
}
