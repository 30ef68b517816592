#include "threads.h"

#include <string>
#include <thread>
#include <vector>

namespace bench {

int measure_threads(int argc, char** argv, const std::function<MakeRank(const Job&)>& prepare) {
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  return guarded(0, [&] {
    const Job job = read_job(directory + "/job");
    const MakeRank make = prepare(job);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < job.ranks; ++rank)
      threads.emplace_back(
          [&, rank] { guarded(rank, [&] { measure(*make(rank), job, rank, directory); }); });
  });
}

}  // namespace bench
