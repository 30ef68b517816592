#include "plan/fold.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

// The values of one index, round after round, and whether an Index can give them.
//
// base + (first + i*stride) mod modulus stays in a window of `modulus` numbers, so
// successive values differ by one number, or by two that are `modulus` apart: the
// stride, and the stride after a wrap-around. Conversely, such values that stay in
// such a window are exactly what that Index gives.
class Track {
 public:
  explicit Track(std::int64_t value) : first_(value), last_(value), low_(value), high_(value) {}

  bool accepts(std::int64_t value) const {
    // Beyond this a modulus may not fit its 32 bits.
    if (std::max(high_, value) - std::min({low_, value, std::int64_t{0}}) >= 1 << 30) return false;
    std::int64_t step = value - last_;
    std::int64_t other = steps_ == 2 ? step_[1] : step;
    if (steps_ == 0 || (steps_ == 1 && step == step_[0])) return true;
    if (step != step_[0] && step != other) return false;
    std::int64_t span = std::max(high_, value) - std::min(low_, value);
    return span < std::abs(step_[0] - other);
  }

  // Requires accepts(value).
  void extend(std::int64_t value) {
    std::int64_t step = value - last_;
    if (steps_ == 0 || (steps_ == 1 && step != step_[0])) step_[steps_++] = step;
    last_ = value;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }

  Index index() const {
    if (low_ == high_) return Index(static_cast<int>(first_));
    return steps_ == 1 ? straight() : wrapped();
  }

 private:
  // No wrap-around was seen: the smallest modulus over base 0 that needs none.
  Index straight() const {
    std::int64_t base = std::min<std::int64_t>(low_, 0);
    return make(base, step_[0], high_ - base + 1);
  }

  // Base 0 if the values allow it. Of the two strides, which are the same modulo the
  // modulus, the smaller one: a step back reads as -1.
  Index wrapped() const {
    std::int64_t modulus = std::abs(step_[0] - step_[1]);
    std::int64_t base = std::clamp<std::int64_t>(0, high_ - modulus + 1, low_);
    auto a = step_[0], b = step_[1];
    bool first = std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a > b;
    return make(base, first ? a : b, modulus);
  }

  Index make(std::int64_t base, std::int64_t stride, std::int64_t modulus) const {
    return Index(static_cast<int>(base), static_cast<int>(first_ - base), static_cast<int>(stride),
                 static_cast<int>(modulus));
  }

  std::int64_t first_, last_, low_, high_;
  std::int64_t step_[2] = {0, 0};  // distinct differences of successive values
  int steps_ = 0;
};

bool plain(const Section& section) {
  bool constant = section.rounds == 1;
  for (const Step& step : section.steps)
    for_each_index(step, [&](const Index& index) { constant = constant && index == index.base; });
  return constant;
}

std::vector<int> values_of(const Section& section) {
  std::vector<int> values;
  for (const Step& step : section.steps)
    for_each_index(step, [&](const Index& index) { values.push_back(index.base); });
  return values;
}

// The section without its indexes: what has to be the same to fold.
Section skeleton(Section section) {
  for (Step& step : section.steps) for_each_index(step, [](Index& index) { index = 0; });
  return section;
}

// Consecutive sections that fold into one, as many as fit.
class Fold {
 public:
  explicit Fold(const Section& section) : section_(section), skeleton_(skeleton(section)) {
    for (int value : values_of(section)) tracks_.emplace_back(value);
  }

  bool take(const Section& section) {
    if (skeleton(section) != skeleton_) return false;
    auto values = values_of(section);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!tracks_[i].accepts(values[i])) return false;
    for (std::size_t i = 0; i < values.size(); ++i) tracks_[i].extend(values[i]);
    ++section_.rounds;
    return true;
  }

  Section result() && {
    auto track = tracks_.begin();
    for (Step& step : section_.steps)
      for_each_index(step, [&](Index& index) { index = (track++)->index(); });
    return std::move(section_);
  }

 private:
  Section section_;
  Section skeleton_;
  std::vector<Track> tracks_;
};

}  // namespace

Program fold(const Program& program) {
  Program result;
  for (std::size_t i = 0; i < program.size();) {
    if (!plain(program[i])) {
      result.push_back(program[i++]);
      continue;
    }
    Fold folded(program[i++]);
    while (i < program.size() && plain(program[i]) && folded.take(program[i])) ++i;
    result.push_back(std::move(folded).result());
  }
  return result;
}

Program expand(const Program& program) {
  Program result;
  for (const Section& section : program) {
    for (int round = 0; round < section.rounds; ++round) {
      Section& one = result.emplace_back(section);
      one.rounds = 1;
      for (Step& step : one.steps)
        for_each_index(step, [&](Index& index) { index = index.at(round); });
    }
  }
  return result;
}

}  // namespace weft
