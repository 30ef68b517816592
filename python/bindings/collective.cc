// weft/collective.h: what each collective is.
#include "weft/collective.h"

#include <nanobind/stl/string.h>

#include "bindings.h"

namespace {

using namespace weft;

nb::list collectives() {
  nb::list rows;
  for (const CollectiveTraits& traits : kCollectiveTraits) {
    nb::dict row;
    row["name"] = std::string(traits.name);
    row["reduces"] = traits.reduces;
    row["rooted"] = traits.rooted();
    row["is_pair"] = traits.is_pair();
    row["moves_data"] = traits.moves_data();
    row["in_one_buffer"] = traits.in_one_buffer();
    row["input_by_rank"] = traits.input.by_rank();
    row["output_by_rank"] = traits.output.by_rank();
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_collective(nb::module_& m) {
  m.def("collectives", &collectives);
  m.def("has_input", [](const std::string& collective, int rank, int root) {
    return holds(traits_of(parse_collective(collective)).input.holder, rank, root);
  });
  m.def("has_known_size", [](const std::string& collective, int ranks) {
    return traits_of(parse_collective(collective)).has_known_size(ranks);
  });
  m.def("has_output", [](const std::string& collective, int rank, int root) {
    return holds(traits_of(parse_collective(collective)).output.holder, rank, root);
  });
}
