#include "job.h"

#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

// "1000,24", or "-" for none.
std::vector<std::size_t> numbers(const std::string& word) {
  std::vector<std::size_t> found;
  std::stringstream in(word == "-" ? "" : word);
  for (std::string one; std::getline(in, one, ',');) found.push_back(std::stoul(one));
  return found;
}

bool read_case(std::istream& in, Job& job) {
  Case& c = job.cases.emplace_back();
  std::string parts;
  in >> c.collective >> c.dtype >> c.count >> c.batch >> c.algorithm >> parts;
  if (c.algorithm == "-") c.algorithm.clear();
  c.parts = numbers(parts);
  c.together = job.together;
  const auto sum = std::accumulate(c.parts.begin(), c.parts.end(), std::size_t{0});
  return in && (c.parts.empty() || (c.collective == "allreduce" && sum == c.count));
}

bool read_word(const std::string& word, std::istream& in, Job& job) {
  if (word == "ranks") return bool(in >> job.ranks);
  if (word == "meeting") return bool(in >> job.meeting);
  if (word == "seconds") return bool(in >> job.seconds);
  if (word == "samples") return bool(in >> job.samples);
  if (word == "symmetric") return bool(in >> job.symmetric);
  if (word == "together") return bool(in >> job.together);
  return word == "case" && read_case(in, job);
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

std::vector<std::size_t> calls(const Case& c) {
  return c.parts.empty() ? std::vector<std::size_t>{c.count} : c.parts;
}

bool in_place(const Case& c) { return c.collective == "allreduce" || c.collective == "broadcast"; }

}  // namespace bench
