#include "algorithms/registry.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/collective.h"
#include "weft/error.h"
#include "weft/registry.h"
#include "weft/verify.h"

namespace weft {
namespace {

// To add an algorithm: its file, its line in registry.h, its line here.
std::vector<Algorithm> make_builtins() {
  return {
      allreduce_one_shot(),
      allreduce_two_shot(),
      allreduce_ring(),
      allreduce_recursive_doubling(),
      allreduce_rabenseifner(),
      allreduce_two_level(),
      allreduce_multi_leader(),
      allreduce_tree_levels(),
      allreduce_direct(),
      broadcast_one_shot(),
      broadcast_knomial(),
      broadcast_knomial_staged(),
      broadcast_chain(),
      broadcast_chain_walk(),
      broadcast_chain_reversed(),
      broadcast_scatter_allgather(),
      broadcast_scatter_ring(),
      broadcast_two_level(),
      reduce_direct(),
      reduce_binomial(),
      reduce_two_level(),
      allgather_direct(),
      allgather_ring(),
      allgather_two_level(),
      reduce_scatter_direct(),
      reduce_scatter_ring(),
      reduce_scatter_two_level(),
      alltoall_direct(),
      alltoall_pairwise(),
      alltoall_staged(),
      alltoall_two_level(),
      gather_direct(),
      scatter_direct(),
      barrier_dissemination(),
      barrier_two_level(),
      sendrecv_stream(),
  };
}

using AlgorithmPtr = std::shared_ptr<const Algorithm>;

const std::vector<AlgorithmPtr>& builtins() {
  static const std::vector<AlgorithmPtr> algorithms = [] {
    std::vector<AlgorithmPtr> shared;
    for (Algorithm& one : make_builtins())
      shared.push_back(std::make_shared<const Algorithm>(std::move(one)));
    return shared;
  }();
  return algorithms;
}

// Found by name, and not listed: who goes through all algorithms proves or prices them.
const std::vector<AlgorithmPtr>& natives() {
  static const std::vector<AlgorithmPtr> algorithms = [] {
    std::vector<AlgorithmPtr> shared;
    for (std::size_t i = 0; i < kCollectiveTraits.size(); ++i)
      if (!kCollectiveTraits[i].is_pair())
        shared.push_back(std::make_shared<const Algorithm>(native(static_cast<Collective>(i))));
    return shared;
  }();
  return algorithms;
}

// The algorithms that users have added.
class Registry {
 public:
  std::vector<AlgorithmPtr> all() {
    std::lock_guard lock(mutex_);
    std::vector<AlgorithmPtr> algorithms;
    for (const auto& [name, algorithm] : added_) algorithms.push_back(algorithm);
    return algorithms;
  }

  void add(Algorithm algorithm) {
    std::lock_guard lock(mutex_);
    std::string name = algorithm.name;
    added_.insert_or_assign(std::move(name),
                            std::make_shared<const Algorithm>(std::move(algorithm)));
    // release: a thread that sees the new number finds the new algorithm.
    generation_.fetch_add(1, std::memory_order_release);
  }

  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::map<std::string, AlgorithmPtr> added_;
  std::atomic<std::uint64_t> generation_{0};
};

Registry& registry() {
  static Registry registry;
  return registry;
}

std::vector<AlgorithmPtr> all_algorithms() {
  std::vector<AlgorithmPtr> algorithms = builtins();
  for (AlgorithmPtr& added : registry().all()) algorithms.push_back(std::move(added));
  return algorithms;
}

// What a name may mean.
std::vector<AlgorithmPtr> findable() {
  std::vector<AlgorithmPtr> algorithms = all_algorithms();
  algorithms.insert(algorithms.end(), natives().begin(), natives().end());
  return algorithms;
}

std::vector<AlgorithmPtr> algorithms_for(Collective collective) {
  std::vector<AlgorithmPtr> algorithms = findable();
  std::erase_if(algorithms, [&](const AlgorithmPtr& a) { return a->collective != collective; });
  return algorithms;
}

std::vector<std::string> names_of(const std::vector<AlgorithmPtr>& algorithms) {
  std::vector<std::string> names;
  for (const AlgorithmPtr& algorithm : algorithms) names.push_back(algorithm->name);
  return names;
}

std::string_view after_slash(std::string_view name) { return name.substr(name.find('/') + 1); }

// Those that `name` may mean, with the parameters of an alias: one if the name is right, several if
// it is not unique.
std::vector<Resolved> meant_by(std::string_view name, const std::vector<AlgorithmPtr>& algorithms) {
  std::vector<Resolved> found;
  for (const AlgorithmPtr& one : algorithms)
    if (one->name == name) found.push_back({one, one->preset, 0});
  if (!found.empty()) return found;
  for (const AlgorithmPtr& one : algorithms)
    if (after_slash(one->name) == name) found.push_back({one, one->preset, 0});
  if (!found.empty()) return found;
  for (const AlgorithmPtr& one : algorithms)
    for (const Alias& alias : one->aliases)
      if (alias.name == name) found.push_back({one, alias.params, 0});
  return found;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// `of`: for the message, what kind is looked for.
Resolved resolve_among(const std::vector<AlgorithmPtr>& algorithms, const Choice& choice,
                       const std::string& of) {
  std::vector<Resolved> found = meant_by(choice.algorithm, algorithms);
  if (found.size() == 1) {
    Params params = choice.params;
    params.merge(found.front().params);  // what is written goes before what the alias says
    return {std::move(found.front().algorithm), std::move(params), choice.chunk};
  }
  const std::string quoted = "\"" + choice.algorithm + "\"" + of;
  if (found.empty())
    throw InvalidArgument("there is no algorithm " + quoted +
                          "; there are: " + joined(names_of(algorithms)));
  std::vector<std::string> names;
  for (const Resolved& one : found) names.push_back(one.algorithm->name);
  throw InvalidArgument("algorithm " + quoted + " may be any of " + joined(names) +
                        ": give the full name");
}

// For those who look at algorithms one by one.
Algorithm with_preset(const Resolved& resolved) {
  Algorithm algorithm = *resolved.algorithm;
  algorithm.preset = resolved.params;
  algorithm.chunk = resolved.chunk;
  return algorithm;
}

void check_name(const Algorithm& algorithm) {
  const std::string prefix = std::string(name_of(algorithm.collective)) + "/";
  if (!algorithm.name.starts_with(prefix) || algorithm.name.size() == prefix.size() ||
      algorithm.name.find_first_of(" \t\n\"\\=/(),", prefix.size()) != std::string::npos)
    throw InvalidArgument("\"" + algorithm.name + "\" is no name for a " +
                          std::string(name_of(algorithm.collective)) + ": call it \"" + prefix +
                          "my_name\"");
  const auto has_name = [&](const AlgorithmPtr& one) { return one->name == algorithm.name; };
  if (std::ranges::any_of(builtins(), has_name) || std::ranges::any_of(natives(), has_name))
    throw InvalidArgument(algorithm.name +
                          " comes with weft and stays as it is: choose another "
                          "name");
  if (!algorithm.write) throw InvalidArgument(algorithm.name + " has no function `write`");
}

void prove(const Algorithm& algorithm, int ranks, const Params& params) {
  VerifyReport report = verify(make_plan(algorithm, ranks, params), {-1, algorithm.claims});
  if (!report.ok())
    throw InvalidPlan(algorithm.name + " is refused: its plan for " + std::to_string(ranks) +
                      " ranks is wrong.\n" + to_text(report));
}

}  // namespace

[[gnu::hot]] std::uint64_t registry_generation() { return registry().generation(); }

const std::vector<std::string>& builtin_algorithm_names() {
  static const std::vector<std::string> names = names_of(builtins());
  return names;
}

std::vector<std::string> algorithm_names() { return names_of(all_algorithms()); }

Resolved resolve(const Choice& choice, Collective collective) {
  return resolve_among(algorithms_for(collective), choice,
                       " for " + std::string(name_of(collective)));
}

Algorithm find_algorithm(std::string_view name) {
  return with_preset(resolve_among(findable(), parse_choice(name), ""));
}

Algorithm find_algorithm(std::string_view name, Collective collective) {
  return with_preset(resolve(parse_choice(name), collective));
}

bool has_algorithm(std::string_view name, Collective collective) {
  return !meant_by(name, algorithms_for(collective)).empty();
}

void register_algorithm(Algorithm algorithm) {
  check_name(algorithm);
  bool proved = false;
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    for (int root = 0; root < (traits_of(algorithm.collective).rooted() ? ranks : 1); ++root) {
      Params params;
      if (traits_of(algorithm.collective).rooted()) params["root"] = root;
      if (!refusal(algorithm, ranks, params).empty()) continue;
      prove(algorithm, ranks, params);
      proved = true;
    }
  }
  if (!proved)
    throw InvalidPlan(algorithm.name +
                      " refuses 1, 2, 3, 4, 5 and 8 ranks, so that it cannot be "
                      "verified: serve at least one of them");
  registry().add(std::move(algorithm));
}

Plan make_plan(std::string_view algorithm, int ranks, Params params) {
  return make_plan(find_algorithm(algorithm), ranks, params);
}

}  // namespace weft
