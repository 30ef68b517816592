// The job that `weft bench` gives to one library's ranks: a small text file, with one word and its
// values on each line.
//
//   ranks 2
//   meeting /proc/4711/fd/5    memory that all ranks share, zeroed, at least a page
//   seconds 0.2                time of a case; or `samples 5`, exactly so many
//   symmetric 0
//   together 0                 1: all parts of an operation are started before one is waited for
//   case allreduce float32 1024 16 ring 1000,24
//
// The values of a case: collective, element type, count of the call, batch, the algorithm that is
// asked for, the counts of an allreduce's parts. "-": none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

struct Case {
  std::string collective;
  std::string dtype;
  std::size_t count = 0;  // elements, as weft::Call counts
  int batch = 1;          // operations of a sample
  std::string algorithm;  // empty: the library's choice
  // An allreduce is done in these parts of its buffer, one after the other. They add up to `count`.
  std::vector<std::size_t> parts;
  bool together = false;  // all parts are started before the first is waited for
};

struct Job {
  int ranks = 1;
  std::string meeting;
  double seconds = 0;
  long samples = 0;
  bool symmetric = false;
  bool together = false;
  std::vector<Case> cases;
};

// Throws std::runtime_error naming the file and the word.
Job read_job(const std::string& file);

// Elements of one rank's input and output; 0 where it has none. The root is rank 0.
struct Sides {
  std::size_t input = 0, output = 0;
};
Sides sides(const Case& c, int rank, int ranks);

// Allreduce and broadcast: one buffer is input and output.
bool in_place(const Case& c);

// The counts of the calls that an operation consists of: its parts, or one call of all.
std::vector<std::size_t> calls(const Case& c);

}  // namespace bench
