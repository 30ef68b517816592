// Symbolic values: what an element would hold, as a tree of the ranks' contributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::verifier {

// A reduction tree over ranks. Equal trees have equal numbers.
using Tree = std::uint32_t;

// The tree says whose contributions were combined and how; `element` which element of
// theirs. They are apart because all elements of a chunk usually share one tree.
struct Value {
  Tree tree = 0;
  std::uint32_t element = 0;
  bool operator==(const Value&) const = default;
};

// All trees of one plan, hash-consed. A sum's two children are kept in canonical order,
// since every reduction commutes to the bit: ranks whose trees have equal numbers have
// identical bits. Not thread safe.
class Trees {
 public:
  explicit Trees(int ranks);

  static constexpr Tree kUndefined = 0;  // memory that was never written
  static constexpr Tree kMixed = 1;      // a sum of different elements
  static Tree leaf(int rank) { return static_cast<Tree>(rank) + 2; }

  Value sum(Value a, Value b);
  // As the two orders of `reduce` add up. At least one term.
  Value from_left(std::span<const Value> terms);
  Value balanced(std::span<const Value> terms);
  // The one tree of all reproducible results: that of the ranks in order, scaled, rounded once.
  Tree reproducible();
  Value scaled(Value value);
  // As stored in the element type: a partial sum of f16 or bf16 is rounded, once.
  Value rounded(Value value);
  // As stored in a narrow slot: contributions of f32 are rounded as well, once.
  Value narrowed(Value value);
  // A partial sum of f16 or bf16 that has been rounded.
  bool is_rounded(Tree tree) const;
  // Roundings by narrow slots between a contribution and this, at most.
  int narrowings(Tree tree) const { return nodes_[tree].narrowings; }

  // Empty if the tree has every rank's contribution exactly once and the scale exactly
  // once, at its root. Else what is wrong, as "counts rank 2 twice".
  std::string flaw(Tree tree) const;
  // "x0 + (x1 + x2)": in which order; long ones are cut off.
  std::string order(Tree tree) const;
  // "element 3 of rank 1's input", for values that no reduction should have touched.
  std::string text(Value value) const;

 private:
  enum class Kind : std::uint8_t { kUndefined, kMixed, kLeaf, kSum, kScale, kRound, kNarrow };
  struct Node {
    Kind kind;
    bool sound;   // no undefined or mixed part, no rank twice, not scaled before the root
    bool scaled;  // has a scale in it
    int count;    // contributions
    Tree a, b;
    int narrowings = 0;
  };

  Tree intern(Kind kind, Tree a, Tree b);
  Tree add(Kind kind, Tree a, Tree b);
  bool overlap(Tree a, Tree b) const;
  int first_missing(Tree tree) const;
  std::string deep_flaw(Tree tree) const;
  void write_order(Tree tree, bool inner, std::string& text) const;
  std::size_t& bucket(std::uint64_t key);
  void grow();

  int ranks_;
  std::size_t words_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> masks_;  // `words_` a node: whose contributions it has
  std::vector<std::uint64_t> keys_;   // by node
  std::vector<std::size_t> table_;    // open addressing: node number + 1, or 0
};

}  // namespace weft::verifier
