#include "mutants/calls.h"

#include <algorithm>
#include <utility>

#include "mutants/mutate.h"
#include "passes/verify/scenario.h"
#include "plan/check.h"

namespace weft::mutants {
namespace {

constexpr double kScale = 0.5;
constexpr double kNobodys = -7;
constexpr std::size_t kMost = 6000;  // elements of a message that the algorithm cuts
constexpr std::size_t kGuard = 16;   // elements around each buffer

double contribution(int rank, std::size_t element) {
  return static_cast<double>(1 +
                             Dice(static_cast<std::uint64_t>(rank) << 32 | element).next() % 1000);
}

bool gathers(Collective c) { return c == Collective::kAllgather || c == Collective::kGather; }

bool scatters(Collective c) { return c == Collective::kReduceScatter || c == Collective::kScatter; }

}  // namespace

// Chunks of 3 elements travel in their messages, those of 100 in slots. A hundred chunks pass
// around any number of slots and mailboxes.
const std::vector<Case>& cases() {
  static const std::vector<Case> cases = {
      {"short chunks, equal", 3, 8, Case::kEqual, Case::kApart, false},
      {"short chunks, uneven", 3, 20, Case::kUneven, Case::kInPlace, false},
      {"long chunks, uneven", 100, 500, Case::kUneven, Case::kInPlaceOnOddRanks, true},
      {"long chunks, one long block", 100, 4000, Case::kOneLong, Case::kApart, false},
      {"one chunk or none", 100, 1, Case::kSomeEmpty, Case::kInPlace, true},
      {"short chunks, one long block", 3, 300, Case::kOneLong, Case::kInPlace, true},
      {"long chunks, some empty", 100, 700, Case::kSomeEmpty, Case::kApart, true},
      {"short chunks, some empty", 3, 11, Case::kSomeEmpty, Case::kInPlaceOnOddRanks, false},
  };
  return cases;
}

Side::Side(const PlanShape& shape, const Case& call, int rank, std::byte* arena)
    : shape_(shape),
      call_(call),
      rank_(rank),
      arena_(reinterpret_cast<double*>(arena)),
      input_(side(Buffer::kInput, rank)),
      output_(side(Buffer::kOutput, rank)),
      has_input_(verifier::has_input(shape, rank)),
      has_output_(verifier::has_output(shape, rank)) {
  place(call.place);
}

void Side::place(Case::Place place) {
  const Collective c = shape_.collective;
  const bool may = c != Collective::kAlltoall || (shape_.in_place && input_ == output_);
  const bool aliases = has_input_ && has_output_ && may &&
                       (place == Case::kInPlace || (place != Case::kApart && rank_ % 2 == 1));
  input_at_ = arena_ + kGuard;
  output_at_ = input_at_ + (has_input_ ? input_.total() : 0) + kGuard;
  if (!aliases) return;
  output_at_ = input_at_;
  if (gathers(c)) input_at_ += output_.offset(rank_);
  if (scatters(c)) output_at_ += input_.offset(rank_);
}

// What `from` has for `to`; where only one of them matters the other is 0.
std::size_t Side::count(int from, int to) const {
  const bool equal = call_.counts == Case::kEqual || shape_.equal_counts;
  if (equal || shape_.collective == Collective::kSendRecv) return call_.block;
  if (call_.counts == Case::kOneLong)
    return (from + to + 1) % shape_.ranks == 0 ? call_.block : std::size_t{1};
  // In place a pair exchanges as much as it gets.
  if (shape_.in_place && call_.place != Case::kApart && from > to) std::swap(from, to);
  const std::uint64_t bits = Dice(static_cast<std::uint64_t>(from * shape_.ranks + to)).next();
  if (call_.counts == Case::kSomeEmpty && bits >> 63) return 0;
  return 1 + bits % (2 * call_.block);
}

// As the planner cuts it. A rank that is not the root has been told its own count alone.
Partition Side::side(Buffer buffer, int rank) const {
  const Collective c = shape_.collective;
  const bool input = buffer == Buffer::kInput;
  const int blocks = input ? shape_.input_blocks : shape_.output_blocks;
  if (fixed_blocks(c, shape_.ranks).input < 0) {
    const auto most = static_cast<std::size_t>(std::max(shape_.input_blocks, shape_.output_blocks));
    const std::size_t of_each = std::min(call_.block, kMost / most);
    return Partition::even(of_each * most - (call_.counts == Case::kEqual ? 0 : of_each / 2),
                           blocks, 8);
  }
  const bool by_rank = c == Collective::kAlltoall || (gathers(c) ? !input : scatters(c) && input);
  if (!by_rank) return Partition::uniform(count(rank, 0), blocks);
  const bool root_knows = c == Collective::kGather || c == Collective::kScatter;
  if (root_knows && rank != verifier::root_of(shape_))
    return Partition::uniform(count(rank, 0), blocks);
  std::vector<std::size_t> counts;
  for (int b = 0; b < blocks; ++b)
    counts.push_back(c != Collective::kAlltoall ? count(b, 0)
                     : input                    ? count(rank, b)
                                                : count(b, rank));
  return Partition::of(counts);
}

void Side::fill() const {
  std::fill(arena_, arena_ + input_.total() + output_.total() + 3 * kGuard, kNobodys);
  for (std::size_t i = 0; has_input_ && i < input_.total(); ++i)
    input_at_[i] = contribution(rank_, i);
}

Binding Side::binding() const {
  Binding binding;
  binding.user[0] = has_input_ ? reinterpret_cast<std::byte*>(input_at_) : nullptr;
  binding.user[1] = has_output_ ? reinterpret_cast<std::byte*>(output_at_) : nullptr;
  binding.parts = {input_, output_};
  binding.element = binding.accumulator = binding.wire = sizeof(double);
  binding.chunk = call_.chunk;
  binding.reduce = kernels::find_reduce(DType::kF64, ReduceOp::kPremulSum);
  binding.scale = kScale;
  binding.count_by_pair = fixed_blocks(shape_.collective, shape_.ranks).input > 0;
  binding.signature.count = input_.total();
  binding.signature.plan = digest(shape_);
  binding.signature.collective = static_cast<std::uint8_t>(shape_.collective);
  binding.signature.dtype = static_cast<std::uint8_t>(DType::kF64);
  return binding;
}

Side::Place Side::place_of(std::size_t element) const {
  int block = 0;
  while (element >= output_.offset(block + 1)) ++block;
  return {block, element - output_.offset(block)};
}

double Side::expected(std::size_t element) const {
  const Place at = place_of(element);
  const auto mine = [&](int from) { return side(Buffer::kInput, from).offset(rank_) + at.element; };
  switch (shape_.collective) {
    case Collective::kAllgather:
    case Collective::kGather:
      return contribution(at.block, at.element);
    case Collective::kAlltoall:
      return contribution(at.block, mine(at.block));
    case Collective::kScatter:
      return contribution(verifier::root_of(shape_), mine(verifier::root_of(shape_)));
    case Collective::kBroadcast:
      return contribution(verifier::root_of(shape_), element);
    case Collective::kSendRecv:
      return contribution(0, element);
    default:
      break;
  }
  const bool scattered = shape_.collective == Collective::kReduceScatter;
  const std::size_t from = scattered ? mine(rank_) : element;
  double sum = 0;
  for (int rank = 0; rank < shape_.ranks; ++rank) sum += contribution(rank, from);
  return sum * kScale;
}

std::string Side::flaw() const {
  const std::size_t end = input_.total() + output_.total() + 3 * kGuard;
  const auto inside = [](const double* at, const double* begin, std::size_t count) {
    return at >= begin && at < begin + count;
  };
  for (double* at = arena_; at < arena_ + end; ++at) {
    double right = kNobodys;
    if (has_output_ && inside(at, output_at_, output_.total()))
      right = expected(static_cast<std::size_t>(at - output_at_));
    else if (has_input_ && inside(at, input_at_, input_.total()))
      right = contribution(rank_, static_cast<std::size_t>(at - input_at_));
    if (*at != right)
      return "element " + std::to_string(at - output_at_) + " of rank " + std::to_string(rank_) +
             "'s output is " + std::to_string(*at) + ", not " + std::to_string(right);
  }
  return {};
}

}  // namespace weft::mutants
