// This process as a rank of a job, whose processes go through the same cases in the same order.
#pragma once

#include <string>

namespace weft::testing {

struct Job {
  int rank = 0, size = 0;
  std::string fabric;     // as process_fabric() knows it
  std::string directory;  // that all ranks see, for their stores
};

// From the launcher's variables, WEFT_TEST_FABRIC and WEFT_TEST_DIRECTORY. Throws
// std::runtime_error naming what is missing.
const Job& job();

// "rank 1 of 3"
std::string name_of_this_rank();

}  // namespace weft::testing
