#include "weft/algorithm.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/builder.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft {
namespace {

// Words that a user has misspelt would otherwise be kept and change nothing.
void check_asked(const Algorithm& algorithm, const Builder& builder) {
  std::vector<std::string> unasked = builder.unasked();
  std::string asked;
  if (traits_of(algorithm.collective).rooted()) std::erase(unasked, "root");
  if (unasked.empty()) return;
  for (const auto& [name, value] : builder.shape().params)
    if (std::find(unasked.begin(), unasked.end(), name) == unasked.end())
      asked += (asked.empty() ? "" : ", ") + name;
  throw InvalidArgument(algorithm.name + " has no parameter \"" + unasked.front() +
                        "\"; it has: " + (asked.empty() ? "none" : asked));
}

// The parameters that a plan is written with. Throws InvalidArgument if the algorithm refuses them.
Params checked(const Algorithm& algorithm, int ranks, Params params) {
  params.insert(algorithm.preset.begin(), algorithm.preset.end());
  if (auto why = refusal(algorithm, ranks, params); !why.empty())
    throw InvalidArgument(algorithm.name + " cannot serve this: " + why);
  if (traits_of(algorithm.collective).rooted()) params.try_emplace("root", 0);
  return params;
}

RankPlan write_plan(const Algorithm& algorithm, int rank, int ranks, Params params) {
  Builder builder(rank, {algorithm.name, algorithm.collective, ranks, std::move(params), 1, 1, {}});
  algorithm.write(builder);
  check_asked(algorithm, builder);
  Program program = builder.finish();
  return {builder.shape(), std::move(program)};
}

}  // namespace

std::string refusal(const Algorithm& algorithm, int ranks, const Params& params) {
  if (ranks < 1) return "a plan needs at least one rank";
  if (int root = param_of(params, "root", 0); root < 0 || root >= ranks)
    return "root = " + std::to_string(root) + ": ranks are 0 .. " + std::to_string(ranks - 1);
  return algorithm.refuses ? algorithm.refuses(ranks, params) : "";
}

RankPlan make_rank_plan(const Algorithm& algorithm, int rank, int ranks, Params params) {
  return write_plan(algorithm, rank, ranks, checked(algorithm, ranks, std::move(params)));
}

Plan make_plan(const Algorithm& algorithm, int ranks, const Params& given) {
  if (ranks < 1) throw InvalidArgument("a plan for " + std::to_string(ranks) + " ranks");
  const Params params = checked(algorithm, ranks, given);
  Plan plan;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan own = write_plan(algorithm, rank, ranks, params);
    if (rank == 0)
      plan.shape = own.shape;
    else if (plan.shape != own.shape)
      throw InvalidPlan(algorithm.name + ": rank " + std::to_string(rank) +
                        " declares other blocks, channels or parameters than rank 0: declare "
                        "the same on all ranks");
    plan.programs.push_back(std::move(own.program));
  }
  return plan;
}

}  // namespace weft
