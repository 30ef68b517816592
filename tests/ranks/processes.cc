// Ranks as the processes of a job.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "conformance/fabrics.h"
#include "fabric/process.h"
#include "ranks/errors.h"
#include "ranks/job.h"
#include "support/ranks.h"
#include "weft/communicator.h"

namespace weft::testing {
namespace {

constexpr std::chrono::seconds kLongestPart{60};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

int number_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!variable(name).empty()) return std::stoi(variable(name));
  throw std::runtime_error("no launcher started this process: start weft_rank_tests with mpirun");
}

Job read_job() {
  Job job{number_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}),
          number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}), variable("WEFT_TEST_FABRIC"),
          variable("WEFT_TEST_DIRECTORY")};
  if (job.fabric.empty()) throw std::runtime_error("set WEFT_TEST_FABRIC to a fabric: mpi");
  if (job.directory.empty())
    throw std::runtime_error("set WEFT_TEST_DIRECTORY to a directory that all ranks see");
  // Of a fabric of two: ranks in turn on two nodes, as far as it knows.
  setenv("WEFT_NODE", job.rank % 2 == 0 ? "even" : "odd", 0);
  return job;
}

// MPI's and OpenSHMEM's are made once, by all ranks together, and stay.
bool is_quiet() {
  return job().fabric.find("mpi") != std::string::npos ||
         job().fabric.find("shmem") != std::string::npos;
}

// Each case has a fabric of its own, where there may be several one after the other.
std::shared_ptr<Fabric> make_rank_fabric() {
  if (!is_quiet())
    await("the end of this rank's last fabric", [] { return !default_fabric(job().fabric); });
  return process_fabric(job().fabric);
}

FabricKind kind_of_job() {
  std::string name = job().fabric;
  std::ranges::replace(name, '+', '_');
  return {name, make_rank_fabric, is_quiet()};
}

// A name for the next call of each_rank(), equal on all ranks.
std::string next_part() {
  static std::string last;
  static int calls = 0;
  const auto& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test.test_suite_name()) + "." + test.name();
  calls = name == last ? calls + 1 : 0;
  last = name;
  std::ranges::replace(name, '/', '-');
  return name + "." + std::to_string(calls);
}

void skip_for_want_of_ranks(int size) {
  GTEST_SKIP() << "needs " << size << " ranks, and the job has " << job().size;
}

std::exception_ptr do_part(int size, const RankBody& body, const std::shared_ptr<Store>& store) {
  try {
    if (job().rank < size) body(job().rank, store);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

std::string outcome_of(int rank, Store& store) try {
  return store.get("outcome of rank " + std::to_string(rank), kLongestPart);
} catch (const Timeout&) {
  throw std::runtime_error("rank " + std::to_string(rank) + " did not end its part of this case");
}

}  // namespace

const Job& job() {
  static const Job job = read_job();
  return job;
}

std::string name_of_this_rank() {
  return "rank " + std::to_string(job().rank) + " of " + std::to_string(job().size);
}

const std::vector<FabricKind>& fabric_kinds() {
  static const std::vector<FabricKind> kinds = {kind_of_job()};
  return kinds;
}

bool ranks_are_threads() { return false; }

std::shared_ptr<Fabric> any_fabric() { return make_rank_fabric(); }

std::vector<std::exception_ptr> each_rank(int size, const RankBody& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  if (size > job().size) {
    skip_for_want_of_ranks(size);
    return errors;
  }
  const auto store = file_store(job().directory, next_part());
  std::shared_ptr<Fabric> idle;
  if (job().rank >= size) idle = make_rank_fabric();
  const std::exception_ptr mine = do_part(size, body, store);
  const std::string failed = ::testing::Test::HasFailure() ? "failed" : "passed";
  store->set("outcome of rank " + std::to_string(job().rank), failed + ' ' + text_of_error(mine));
  for (int rank = 0; rank < job().size; ++rank) {
    const std::string outcome = outcome_of(rank, *store);
    if (outcome.starts_with("failed") && !::testing::Test::HasFailure())
      ADD_FAILURE() << "rank " << rank << " failed: see what it says";
    if (rank < size) errors[static_cast<std::size_t>(rank)] = error_of_text(outcome.substr(7));
  }
  return errors;
}

}  // namespace weft::testing
