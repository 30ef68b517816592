#include "passes/verify/expect.h"

#include "weft/collective.h"

#include <algorithm>

namespace weft::verifier {
namespace {

// A contribution: whose, and which element of its input.
struct Origin {
  int rank;
  std::size_t element;
};

// The contributions to element `element` of `block` of `rank`'s output. Where all contribute,
// `rank` stands for any of them.
Origin origin(const PlanShape& shape, const Scenario& call, int rank, int block,
              std::size_t element) {
  int root = root_of(shape);
  auto sent_to_me = [&](int from) {
    return Origin{from, call.part(from, Buffer::kInput).offset(rank) + element};
  };
  switch (shape.collective) {
    case Collective::kAllgather:
    case Collective::kGather:
      return {block, element};
    case Collective::kReduceScatter:
      return sent_to_me(rank);
    case Collective::kScatter:
      return sent_to_me(root);
    case Collective::kAlltoall:
      return sent_to_me(block);
    case Collective::kSendRecv:
      return {0, element};
    default:
      return {root, call.part(rank, Buffer::kOutput).offset(block) + element};
  }
}

// Empty if `value` is what it should be.
std::string flaw_of(const Value& value, const Origin& origin, bool reduced, const Trees& trees) {
  auto element = static_cast<std::uint32_t>(origin.element);
  if (reduced) {
    if (auto flaw = trees.flaw(value.tree); !flaw.empty()) return flaw;
    if (value.element == element) return {};
    return "is the reduction of element " + std::to_string(value.element) + ", not " +
           std::to_string(element);
  }
  Value expected{Trees::leaf(origin.rank), element};
  if (value == expected) return {};
  return "holds " + trees.text(value) + ", not " + trees.text(expected);
}

}  // namespace

Results::Results(const Plan& plan, const Scenario& scenario, const ValueDomain& domain,
                 std::size_t run)
    : plan_(plan), call_(scenario), domain_(domain), run_(run) {}

const Cell& Results::output(int rank, std::size_t element) const {
  const Memory& memory = domain_.memory(run_);
  return memory[memory.address(rank, Buffer::kOutput, element)];
}

void Results::check(const Trees& trees, Findings& findings) const {
  for (int rank = 0; rank < plan_.shape.ranks; ++rank)
    if (has_output(plan_.shape, rank)) check(rank, trees, findings);
}

void Results::check(int rank, const Trees& trees, Findings& findings) const {
  const Partition& part = call_.part(rank, Buffer::kOutput);
  bool reduced = traits_of(plan_.shape.collective).reduces;
  for (int block = 0; block < plan_.shape.output_blocks; ++block)
    for (std::size_t i = 0; i < part.size(block, 1); ++i) {
      std::size_t element = part.offset(block) + i;
      const Cell& cell = output(rank, element);
      auto flaw = flaw_of(cell.value, origin(plan_.shape, call_, rank, block, i), reduced, trees);
      if (flaw.empty()) continue;
      findings.add(Fault::kWrongResult, plan_, written_at(rank, cell),
                   "output element " + std::to_string(element) + " of rank " +
                       std::to_string(rank) + " " + flaw);
      return;
    }
}

RankPosition Results::written_at(int rank, const Cell& cell) const {
  if (cell.writer != kNoEvent) return domain_.position(cell.writer);
  return {rank, static_cast<int>(run_), 0, 0, 0, RankPosition::kEnd};
}

std::optional<Results::Element> Results::inconsistent() const {
  // Elsewhere one rank alone has an element, or it is a copy.
  const CollectiveTraits& traits = traits_of(plan_.shape.collective);
  if (!traits.reduces || !traits.in_one_buffer()) return {};
  std::size_t total = call_.part(0, Buffer::kOutput).total();
  for (int rank = 1; rank < plan_.shape.ranks; ++rank)
    for (std::size_t i = 0; i < total; ++i)
      if (output(rank, i).value != output(0, i).value) return Element{rank, i};
  return {};
}

void Results::check_consistent(const Trees& trees, Findings& findings) const {
  auto found = inconsistent();
  if (!found) return;
  const Cell& cell = output(found->rank, found->element);
  findings.add(Fault::kClaim, plan_, written_at(found->rank, cell),
               "output element " + std::to_string(found->element) +
                   " is claimed to have the same bits on all ranks, but is " +
                   trees.order(cell.value.tree) + " here and " +
                   trees.order(output(0, found->element).value.tree) + " on rank 0");
}

int Results::narrowings(const Trees& trees) const {
  int most = 0;
  for (int rank = 0; rank < plan_.shape.ranks; ++rank) {
    if (!has_output(plan_.shape, rank)) continue;
    const std::size_t total = call_.part(rank, Buffer::kOutput).total();
    for (std::size_t i = 0; i < total; ++i)
      most = std::max(most, trees.narrowings(output(rank, i).value.tree));
  }
  return most;
}

std::optional<Results::Element> Results::other_than(Tree tree) const {
  if (!traits_of(plan_.shape.collective).reduces) return {};
  for (int rank = 0; rank < plan_.shape.ranks; ++rank) {
    if (!has_output(plan_.shape, rank)) continue;
    std::size_t total = call_.part(rank, Buffer::kOutput).total();
    for (std::size_t i = 0; i < total; ++i)
      if (output(rank, i).value.tree != tree) return Element{rank, i};
  }
  return {};
}

void Results::check_reproducible(Tree tree, const Trees& trees, Findings& findings) const {
  auto found = other_than(tree);
  if (!found) return;
  const Cell& cell = output(found->rank, found->element);
  findings.add(Fault::kClaim, plan_, written_at(found->rank, cell),
               "output element " + std::to_string(found->element) +
                   " is claimed to be reproducible, " + trees.order(tree) + ", but is " +
                   trees.order(cell.value.tree));
}

}  // namespace weft::verifier
