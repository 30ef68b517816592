#include "weft/fit.h"

#include <utility>

#include "algorithms/registry.h"

namespace weft {
namespace {

// What is known of the parameters of an algorithm: those given, then what is filled in.
class Fitting {
 public:
  Fitting(const Algorithm& algorithm, int ranks, Params params)
      : algorithm_(algorithm), ranks_(ranks), known_(std::move(params)) {
    known_.insert(algorithm.preset.begin(), algorithm.preset.end());
  }

  bool open(const char* name) const { return !known_.contains(name); }
  bool refused() const { return !refusal(algorithm_, ranks_, known_).empty(); }

  void fill(const char* name, Param value) {
    known_.emplace(name, value);
    if (refused())
      known_.erase(name);
    else
      added_.emplace(name, std::move(value));
  }

  // The parameters that the algorithm asks for, found by writing a program.
  Params asked() const {
    Builder builder(0, {algorithm_.name, algorithm_.collective, ranks_, known_, 1, 1, {}});
    algorithm_.write(builder);
    Params asked = builder.shape().params;
    for (const std::string& name : builder.unasked()) asked.erase(name);
    return asked;
  }

  const Params& added() const { return added_; }

 private:
  const Algorithm& algorithm_;
  int ranks_;
  Params known_, added_;
};

}  // namespace

Params fit(const Algorithm& algorithm, int ranks, const Params& params, const Topology& topology) {
  Fitting fitting(algorithm, ranks, params);
  const int node = ranks_a_node(topology, ranks);
  // Before anything is written: what else is given may be refused without it.
  if (node > 0 && fitting.open("node")) fitting.fill("node", node);
  if (fitting.refused()) return {};
  const Params asked = fitting.asked();
  if (fitting.open("tree") && asked.contains("tree"))
    if (auto tree = tree_of(topology, ranks); !tree.empty()) fitting.fill("tree", std::move(tree));
  Params added = fitting.added();
  std::erase_if(added, [&](const auto& one) { return !asked.contains(one.first); });
  return added;
}

}  // namespace weft
