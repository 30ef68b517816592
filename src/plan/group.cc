#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/builder.h"
#include "weft/error.h"

namespace weft {
namespace {

std::vector<int> all_ranks(int ranks) {
  if (ranks < 1)
    throw InvalidPlan("a group of " + std::to_string(ranks) + " ranks: it needs at least one");
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

Group::Group(int rank, int ranks) : Group(rank, all_ranks(ranks)) {}

Group::Group(int rank, std::vector<int> members) : members_(std::move(members)) {
  auto sorted = members_;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw InvalidPlan("rank " + std::to_string(*twice) + " is twice in a group: name it once");
  auto own = std::find(members_.begin(), members_.end(), rank);
  if (own == members_.end())
    throw InvalidPlan("rank " + std::to_string(rank) +
                      " is not a member of its group: build the phase only on the members");
  me_ = static_cast<int>(own - members_.begin());
}

}  // namespace weft
