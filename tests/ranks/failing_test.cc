// Cases that fail on one rank, so that tests/mpi can see how the job ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "support/ranks.h"
#include "weft/error.h"

namespace weft::testing {
namespace {

void on_rank_one(const std::function<void()>& what) {
  rethrow_first(each_rank(3, [&](int rank, const std::shared_ptr<Store>& store) {
    const auto comm = Communicator::create(store, rank, 3, {.fabric = any_fabric()});
    comm->barrier();
    if (rank == 1) what();
    comm->barrier();
  }));
}

TEST(Failing, DISABLED_Expects) {
  on_rank_one([] { EXPECT_EQ(1, 2); });
}

TEST(Failing, DISABLED_Throws) {
  on_rank_one([] { throw Unsupported("on purpose"); });
}

TEST(Failing, DISABLED_Hangs) {
  on_rank_one([] { ::pause(); });
}

TEST(Failing, DISABLED_Dies) {
  on_rank_one([] { ::raise(SIGKILL); });
}

}  // namespace
}  // namespace weft::testing
