#include "weft/fit.h"

#include <utility>

#include "algorithms/registry.h"
#include "weft/builder.h"

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

  // False: refused, and left open.
  bool fill(const char* name, Param value) {
    known_.emplace(name, value);
    if (refused()) {
      known_.erase(name);
      return false;
    }
    added_.emplace(name, std::move(value));
    return true;
  }

  // Of the two parameters that say which ranks share a node the shorter one that will do.
  void fill_nodes(const std::vector<int>& place) {
    if (place.empty() || !open("node") || !open("place")) return;
    const int size = ranks_a_node(place);
    if (size == 0 || !fill("node", size)) fill("place", place);
  }

  // The parameters that the algorithm asks for, found by writing a program.
  Params asked() const {
    Builder builder(0, {algorithm_.name, algorithm_.collective, ranks_, known_, 1, 1, {}});
    algorithm_.write(builder);
    Params asked = builder.shape().params;
    for (const std::string& name : builder.unasked()) asked.erase(name);
    return asked;
  }

  // What was filled in, of what the algorithm asks for.
  Params added() const {
    const Params wanted = asked();
    Params result = added_;
    std::erase_if(result, [&](const auto& one) { return !wanted.contains(one.first); });
    return result;
  }

 private:
  const Algorithm& algorithm_;
  int ranks_;
  Params known_, added_;
};

}  // namespace

Params fit(const Algorithm& algorithm, int ranks, const Params& params, const Topology& topology) {
  Fitting fitting(algorithm, ranks, params);
  // Before anything is written: what else is given may be refused without it.
  fitting.fill_nodes(place_of(topology, ranks));
  if (fitting.refused()) return {};
  if (fitting.open("tree") && fitting.asked().contains("tree"))
    if (auto tree = tree_of(topology, ranks); !tree.empty()) fitting.fill("tree", std::move(tree));
  return fitting.added();
}

Params fit_place(const Algorithm& algorithm, int ranks, const Params& params,
                 const std::vector<int>& place) {
  Fitting fitting(algorithm, ranks, params);
  fitting.fill_nodes(place);
  return fitting.refused() ? Params{} : fitting.added();
}

}  // namespace weft
