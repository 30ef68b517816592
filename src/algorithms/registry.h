// The algorithms that Weft comes with: one factory a file, named like the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/algorithm.h"
#include "weft/choice.h"

namespace weft {

// Not among the names of algorithms: it can be asked for, and cannot be proved.
Algorithm native(Collective collective);
Algorithm allreduce_one_shot();
Algorithm allreduce_two_shot();
Algorithm allreduce_ring();
Algorithm allreduce_recursive_doubling();
Algorithm allreduce_rabenseifner();
Algorithm allreduce_two_level();
Algorithm allreduce_multi_leader();
Algorithm allreduce_tree_levels();
Algorithm allreduce_direct();
Algorithm broadcast_one_shot();
Algorithm broadcast_knomial();
Algorithm broadcast_knomial_staged();
Algorithm broadcast_chain();
Algorithm broadcast_chain_walk();
Algorithm broadcast_chain_reversed();
Algorithm broadcast_scatter_allgather();
Algorithm broadcast_scatter_ring();
Algorithm broadcast_two_level();
Algorithm reduce_direct();
Algorithm reduce_binomial();
Algorithm reduce_two_level();
Algorithm allgather_direct();
Algorithm allgather_ring();
Algorithm allgather_two_level();
Algorithm reduce_scatter_direct();
Algorithm reduce_scatter_ring();
Algorithm reduce_scatter_two_level();
Algorithm alltoall_direct();
Algorithm alltoall_pairwise();
Algorithm alltoall_staged();
Algorithm alltoall_two_level();
Algorithm gather_direct();
Algorithm scatter_direct();
Algorithm barrier_dissemination();
Algorithm barrier_two_level();
Algorithm sendrecv_stream();

inline constexpr Claims kConsistent{.consistent = true};
inline constexpr Claims kReproducible{.consistent = true, .reproducible = true};

// What a choice means: a registered algorithm and the parameters that the choice and its alias say.
// The algorithm lives as long as somebody has it, also when a user's is replaced.
struct Resolved {
  std::shared_ptr<const Algorithm> algorithm;
  Params params;
  std::size_t chunk = 0;  // as Choice

  Choice choice() const { return {algorithm->name, params, chunk}; }
};
// Throws as find_algorithm.
Resolved resolve(const Choice& choice, Collective collective);

// Whether find_algorithm(name, collective) would find any.
bool has_algorithm(std::string_view name, Collective collective);

// Changes whenever a user's algorithm is added or replaced: plans made before may be stale.
std::uint64_t registry_generation();

}  // namespace weft
