// The result of a collective: the value of each element of each output.
#pragma once

#include <cstddef>
#include <optional>

#include "passes/verify/value_domain.h"

namespace weft::verifier {

// The outputs of one plan that a domain has executed to its end, against that.
class Results {
 public:
  Results(const Plan& plan, const Scenario& scenario, const ValueDomain& domain, std::size_t run);

  // Adds a finding for each rank whose output differs, at the step that wrote it last.
  void check(const Trees& trees, Findings& findings) const;
  // Whether an element that several ranks reduce has the same tree on all of them.
  bool consistent() const { return !inconsistent(); }
  // Whether every reduced element has `tree`.
  bool reproducible(Tree tree) const { return !other_than(tree); }
  // Roundings by narrow slots between a contribution and an output, at most.
  int narrowings(const Trees& trees) const;
  // Adds a finding for a rank of which that does not hold.
  void check_consistent(const Trees& trees, Findings& findings) const;
  void check_reproducible(Tree tree, const Trees& trees, Findings& findings) const;

 private:
  void check(int rank, const Trees& trees, Findings& findings) const;
  const Cell& output(int rank, std::size_t element) const;
  // An element of a rank's output.
  struct Element {
    int rank;
    std::size_t element;
  };
  // The first that differs from rank 0's.
  std::optional<Element> inconsistent() const;
  // The first that is reduced as another tree.
  std::optional<Element> other_than(Tree tree) const;
  RankPosition written_at(int rank, const Cell& cell) const;

  const Plan& plan_;
  const Scenario& call_;
  const ValueDomain& domain_;
  std::size_t run_;
};

}  // namespace weft::verifier
