// The calls that an accepted plan is run with, one rank's side of each: partitions, buffers, what
// comes out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/binding.h"
#include "weft/plan.h"

namespace weft::mutants {

// How a call is cut and where its buffers lie.
struct Case {
  enum Counts { kEqual, kUneven, kSomeEmpty, kOneLong };
  enum Place { kApart, kInPlace, kInPlaceOnOddRanks };

  const char* name;
  std::size_t chunk;  // elements
  std::size_t block;  // elements of one, roughly
  Counts counts;
  Place place;
  bool symmetric;
};

const std::vector<Case>& cases();

// Bytes that the buffers of any call take on a rank.
inline constexpr std::size_t kArena = std::size_t{4} << 20;

// One rank's side of one call. Elements are doubles, sums have a scale of 0.5, and all values are
// small integers, so that results are exact.
class Side {
 public:
  // `arena`: kArena bytes for the buffers.
  Side(const PlanShape& shape, const Case& call, int rank, std::byte* arena);

  // Writes the inputs, and what no rank contributes everywhere else.
  void fill() const;
  // All but plan, signature and where the buffers lie.
  Binding binding() const;
  // Empty, or what is wrong with the output, or with the memory around the buffers.
  std::string flaw() const;

 private:
  void place(Case::Place place);
  std::size_t count(int from, int to) const;
  Partition side(Buffer buffer, int rank) const;
  double expected(std::size_t element) const;
  // The output's block and place in it of an element.
  struct Place {
    int block;
    std::size_t element;
  };
  Place place_of(std::size_t element) const;

  const PlanShape& shape_;
  const Case& call_;
  const int rank_;
  double* const arena_;
  Partition input_, output_;
  bool has_input_, has_output_;
  double *input_at_, *output_at_;
};

}  // namespace weft::mutants
