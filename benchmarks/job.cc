#include "job.h"

#include <fstream>
#include <stdexcept>

namespace bench {

namespace {

bool read_word(const std::string& word, std::istream& in, Job& job) {
  if (word == "ranks") return bool(in >> job.ranks);
  if (word == "meeting") return bool(in >> job.meeting);
  if (word == "seconds") return bool(in >> job.seconds);
  if (word == "samples") return bool(in >> job.samples);
  if (word == "symmetric") return bool(in >> job.symmetric);
  if (word != "case") return false;
  Case& c = job.cases.emplace_back();
  in >> c.collective >> c.dtype >> c.count >> c.batch >> c.algorithm;
  if (c.algorithm == "-") c.algorithm.clear();
  return bool(in);
}

}  // namespace

Job read_job(const std::string& file) {
  Job job;
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read the job " + file);
  for (std::string word; in >> word;)
    if (!read_word(word, in, job))
      throw std::runtime_error("the job " + file + " is not understood at '" + word + "'");
  return job;
}

Sides sides(const Case& c, int rank, int ranks) {
  const std::size_t one = c.count, all = c.count * static_cast<std::size_t>(ranks);
  const bool root = rank == 0;
  if (c.collective == "barrier") return {};
  if (c.collective == "broadcast") return {root ? one : 0, one};
  if (c.collective == "reduce") return {one, root ? one : 0};
  if (c.collective == "allgather") return {one, all};
  if (c.collective == "gather") return {one, root ? all : 0};
  if (c.collective == "reduce_scatter") return {all, one};
  if (c.collective == "scatter") return {root ? all : 0, one};
  if (c.collective == "alltoall") return {all, all};
  return {one, one};  // allreduce, sendrecv
}

bool in_place(const Case& c) { return c.collective == "allreduce" || c.collective == "broadcast"; }

}  // namespace bench
