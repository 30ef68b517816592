#include "passes/verify/values.h"

#include <algorithm>
#include <bit>

namespace weft::verifier {

Trees::Trees(int ranks)
    : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64), table_(1024) {
  add(Kind::kUndefined, 0, 0);
  add(Kind::kMixed, 0, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    Tree tree = add(Kind::kLeaf, static_cast<Tree>(rank), 0);
    auto bit = static_cast<std::size_t>(rank);
    masks_[tree * words_ + bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

Value Trees::sum(Value a, Value b) {
  if (a.element != b.element) return {kMixed, a.element};
  if (a.tree > b.tree) std::swap(a.tree, b.tree);
  return {intern(Kind::kSum, a.tree, b.tree), a.element};
}

Value Trees::from_left(std::span<const Value> terms) {
  Value total = terms[0];
  for (const Value& term : terms.subspan(1)) total = sum(total, term);
  return total;
}

Value Trees::balanced(std::span<const Value> terms) {
  if (terms.size() == 1) return terms[0];
  const std::size_t half = std::bit_ceil(terms.size()) / 2;
  const Value left = balanced(terms.first(half));
  return sum(left, balanced(terms.subspan(half)));
}

Tree Trees::reproducible() {
  std::vector<Value> leaves;
  for (int rank = 0; rank < ranks_; ++rank) leaves.push_back({leaf(rank), 0});
  return rounded(scaled(balanced(leaves))).tree;
}

Value Trees::scaled(Value value) { return {intern(Kind::kScale, value.tree, 0), value.element}; }

Value Trees::rounded(Value value) {
  Kind kind = nodes_[value.tree].kind;
  if (kind != Kind::kSum && kind != Kind::kScale) return value;
  return {intern(Kind::kRound, value.tree, 0), value.element};
}

Value Trees::narrowed(Value value) {
  const Kind kind = nodes_[value.tree].kind;
  if (kind == Kind::kNarrow || kind < Kind::kLeaf) return value;
  return {intern(Kind::kNarrow, value.tree, 0), value.element};
}

bool Trees::is_rounded(Tree tree) const {
  const Node& node = nodes_[tree];
  return node.kind == Kind::kRound ||
         (node.kind == Kind::kNarrow && nodes_[node.a].kind != Kind::kLeaf);
}

std::size_t& Trees::bucket(std::uint64_t key) {
  std::size_t mask = table_.size() - 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 20 & mask;
  while (table_[at] != 0 && keys_[table_[at] - 1] != key) at = (at + 1) & mask;
  return table_[at];
}

void Trees::grow() {
  table_.assign(table_.size() * 2, 0);
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (nodes_[i].kind >= Kind::kSum) bucket(keys_[i]) = i + 1;
}

Tree Trees::intern(Kind kind, Tree a, Tree b) {
  std::uint64_t key =
      std::uint64_t{static_cast<std::uint8_t>(kind)} << 60 | std::uint64_t{a} << 30 | b;
  if (std::size_t found = bucket(key)) return static_cast<Tree>(found - 1);
  if (nodes_.size() * 2 > table_.size()) grow();
  Tree tree = add(kind, a, b);
  keys_[tree] = key;
  bucket(key) = tree + 1;
  return tree;
}

Tree Trees::add(Kind kind, Tree a, Tree b) {
  auto tree = static_cast<Tree>(nodes_.size());
  Node node{kind, true, false, 0, a, b};
  masks_.resize(masks_.size() + words_);
  if (kind == Kind::kUndefined || kind == Kind::kMixed) node.sound = false;
  if (kind == Kind::kLeaf) node.count = 1;
  if (kind >= Kind::kSum) {
    const Node left = nodes_[a],
               right = kind == Kind::kSum ? nodes_[b] : Node{left.kind, true, false, 0, 0, 0};
    bool inner_scale =
        kind != Kind::kRound && kind != Kind::kNarrow && (left.scaled || right.scaled);
    bool twice = kind == Kind::kSum && overlap(a, b);
    node.sound = left.sound && right.sound && !inner_scale && !twice;
    node.scaled = left.scaled || right.scaled || kind == Kind::kScale;
    node.count = left.count + right.count;
    node.narrowings = std::max(left.narrowings, right.narrowings) + (kind == Kind::kNarrow ? 1 : 0);
    for (std::size_t w = 0; w < words_; ++w)
      masks_[tree * words_ + w] =
          masks_[a * words_ + w] | (kind == Kind::kSum ? masks_[b * words_ + w] : 0);
  }
  nodes_.push_back(node);
  keys_.push_back(0);
  return tree;
}

bool Trees::overlap(Tree a, Tree b) const {
  for (std::size_t w = 0; w < words_; ++w)
    if (masks_[a * words_ + w] & masks_[b * words_ + w]) return true;
  return false;
}

int Trees::first_missing(Tree tree) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    auto bit = static_cast<std::size_t>(rank);
    if (!(masks_[tree * words_ + bit / 64] >> bit % 64 & 1)) return rank;
  }
  return -1;
}

std::string Trees::deep_flaw(Tree tree) const {
  const Node& node = nodes_[tree];
  if (node.sound) return {};
  if (node.kind == Kind::kUndefined) return "is memory that was never written";
  if (node.kind == Kind::kMixed) return "sums different elements";
  if (auto flaw = deep_flaw(node.a); !flaw.empty()) return flaw;
  if (node.kind == Kind::kSum)
    if (auto flaw = deep_flaw(node.b); !flaw.empty()) return flaw;
  if (node.kind == Kind::kScale) return "is scaled twice";
  if (nodes_[node.a].scaled || nodes_[node.b].scaled) return "is scaled before it is complete";
  for (int rank = 0; rank < ranks_; ++rank)
    if (overlap(node.a, leaf(rank)) && overlap(node.b, leaf(rank)))
      return "counts rank " + std::to_string(rank) + " twice";
  return {};
}

std::string Trees::flaw(Tree tree) const {
  if (!nodes_[tree].sound) return deep_flaw(tree);
  if (nodes_[tree].count < ranks_)
    return "misses rank " + std::to_string(first_missing(tree)) + "'s contribution (" +
           std::to_string(nodes_[tree].count) + " of " + std::to_string(ranks_) + " are there)";
  if (!nodes_[tree].scaled) return "misses the last reduction, which scales";
  return {};
}

std::string Trees::order(Tree tree) const {
  std::string text;
  write_order(tree, false, text);
  return text;
}

void Trees::write_order(Tree tree, bool inner, std::string& text) const {
  constexpr std::size_t kMost = 160;
  const Node& node = nodes_[tree];
  if (text.size() >= kMost) {
    if (!text.ends_with("...")) text += "...";
  } else if (node.kind == Kind::kUndefined) {
    text += "nothing";
  } else if (node.kind == Kind::kMixed) {
    text += "a mixture";
  } else if (node.kind == Kind::kLeaf) {
    text += "x" + std::to_string(node.a);
  } else if (node.kind == Kind::kSum) {
    if (inner) text += "(";
    write_order(node.a, true, text);
    if (text.size() < kMost) text += " + ";
    write_order(node.b, true, text);
    if (inner && text.size() < kMost) text += ")";
  } else if (node.kind == Kind::kNarrow ||
             (node.kind == Kind::kRound && nodes_[node.a].kind == Kind::kSum)) {
    text += node.kind == Kind::kNarrow ? "narrow(" : "rounded(";
    write_order(node.a, false, text);
    if (text.size() < kMost) text += ")";
  } else {
    write_order(node.a, inner, text);  // the scale, and the last rounding: all have them
  }
}

std::string Trees::text(Value value) const {
  const Node& node = nodes_[value.tree];
  if (node.kind == Kind::kUndefined) return "memory that was never written";
  if (node.kind == Kind::kNarrow) return "what was rounded for a narrow slot";
  if (node.kind != Kind::kLeaf) return "a reduction";
  return "element " + std::to_string(value.element) + " of rank " + std::to_string(node.a) +
         "'s input";
}

}  // namespace weft::verifier
