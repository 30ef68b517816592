#include "algorithms/registry.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

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

const std::vector<Algorithm>& builtins() {
  static const std::vector<Algorithm> algorithms = make_builtins();
  return algorithms;
}

// The algorithms that users have added.
class Registry {
 public:
  std::vector<Algorithm> all() {
    std::lock_guard lock(mutex_);
    std::vector<Algorithm> algorithms;
    for (const auto& [name, algorithm] : added_) algorithms.push_back(algorithm);
    return algorithms;
  }

  void add(Algorithm algorithm) {
    std::lock_guard lock(mutex_);
    std::string name = algorithm.name;
    added_.insert_or_assign(std::move(name), std::move(algorithm));
    // release: whoever sees the new number finds the new algorithm.
    generation_.fetch_add(1, std::memory_order_release);
  }

  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::map<std::string, Algorithm> added_;
  std::atomic<std::uint64_t> generation_{0};
};

Registry& registry() {
  static Registry registry;
  return registry;
}

}  // namespace

std::uint64_t registry_generation() { return registry().generation(); }

namespace {

std::vector<Algorithm> all_algorithms() {
  std::vector<Algorithm> algorithms = builtins();
  for (Algorithm& added : registry().all()) algorithms.push_back(std::move(added));
  return algorithms;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string_view after_slash(std::string_view name) { return name.substr(name.find('/') + 1); }

// With the parameters of that alias, if it has it.
std::optional<Algorithm> by_alias(const Algorithm& algorithm, std::string_view name) {
  for (const Alias& alias : algorithm.aliases) {
    if (alias.name != name) continue;
    Algorithm found = algorithm;
    found.preset = alias.params;
    return found;
  }
  return {};
}

// Those that `name` may mean: one if it is right, several if it is not unique.
std::vector<Algorithm> meant_by(std::string_view name, const std::vector<Algorithm>& algorithms) {
  auto those = [&](auto&& match) {
    std::vector<Algorithm> found;
    std::copy_if(algorithms.begin(), algorithms.end(), std::back_inserter(found), match);
    return found;
  };
  auto found = those([&](const Algorithm& a) { return a.name == name; });
  if (found.empty()) found = those([&](const Algorithm& a) { return after_slash(a.name) == name; });
  if (!found.empty()) return found;
  for (const Algorithm& algorithm : algorithms)
    if (auto meant = by_alias(algorithm, name)) found.push_back(std::move(*meant));
  return found;
}

std::vector<std::string> names_of(const std::vector<Algorithm>& algorithms) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms) names.push_back(algorithm.name);
  return names;
}

// `text`: a name, perhaps with parameters. `of`: for the message, what kind is looked for.
Algorithm find_among(const std::vector<Algorithm>& algorithms, std::string_view text,
                     const std::string& of) {
  Choice choice = parse_choice(text);
  std::vector<Algorithm> found = meant_by(choice.algorithm, algorithms);
  if (found.size() == 1) {
    choice.params.merge(found.front().preset);  // what is written goes before what the alias says
    found.front().preset = std::move(choice.params);
    found.front().chunk = choice.chunk;
    return found.front();
  }
  const std::string quoted = "\"" + choice.algorithm + "\"" + of;
  if (found.empty())
    throw InvalidArgument("there is no algorithm " + quoted +
                          "; there are: " + joined(names_of(algorithms)));
  throw InvalidArgument("algorithm " + quoted + " may be any of " + joined(names_of(found)) +
                        ": give the full name");
}

std::vector<Algorithm> algorithms_for(Collective collective) {
  std::vector<Algorithm> algorithms = all_algorithms();
  std::erase_if(algorithms, [&](const Algorithm& a) { return a.collective != collective; });
  return algorithms;
}

void check_name(const Algorithm& algorithm) {
  const std::string prefix = std::string(name_of(algorithm.collective)) + "/";
  if (!algorithm.name.starts_with(prefix) || algorithm.name.size() == prefix.size() ||
      algorithm.name.find_first_of(" \t\n\"\\=/(),", prefix.size()) != std::string::npos)
    throw InvalidArgument("\"" + algorithm.name + "\" is no name for a " +
                          std::string(name_of(algorithm.collective)) + ": call it \"" + prefix +
                          "my_name\"");
  const auto& names = builtin_algorithm_names();
  if (std::find(names.begin(), names.end(), algorithm.name) != names.end())
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

const std::vector<std::string>& builtin_algorithm_names() {
  static const std::vector<std::string> names = names_of(builtins());
  return names;
}

std::vector<std::string> algorithm_names() { return names_of(all_algorithms()); }

Algorithm find_algorithm(std::string_view name) { return find_among(all_algorithms(), name, ""); }

Algorithm find_algorithm(std::string_view name, Collective collective) {
  return find_among(algorithms_for(collective), name, " for " + std::string(name_of(collective)));
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
