// The sum of every rank's numbers, in C++.
//
//   allreduce                      two ranks, as threads of this process
//   allreduce RANK SIZE DIRECTORY  one rank a process; all name the same fresh directory
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "weft/communicator.h"

namespace {

void sum(weft::Communicator& comm) {
  std::vector<float> x(1000, static_cast<float>(comm.rank() + 1));
  comm.allreduce(x.data(), x.data(), x.size(), weft::DType::kF32, weft::ReduceOp::kSum);
  std::printf("rank %d of %d: %g\n", comm.rank(), comm.size(), static_cast<double>(x[0]));
}

// A thread that acts as a rank has a fabric of its own.
void rank_thread(const std::shared_ptr<weft::Store>& store, int rank, int size) {
  weft::CommunicatorOptions options;
  options.fabric = weft::make_shm_fabric();
  sum(*weft::Communicator::create(store, rank, size, options));
}

int run(int argc, char** argv) {
  if (argc == 4) {
    sum(*weft::Communicator::create(weft::file_store(argv[3]), std::stoi(argv[1]),
                                    std::stoi(argv[2])));
    return EXIT_SUCCESS;
  }
  if (argc != 1) {
    std::fprintf(stderr, "usage: %s [RANK SIZE DIRECTORY]\n", argv[0]);
    return EXIT_FAILURE;
  }
  auto store = weft::memory_store();
  auto other = std::async(std::launch::async, rank_thread, store, 1, 2);
  rank_thread(store, 0, 2);
  other.get();
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
