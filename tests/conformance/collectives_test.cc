// The grid: every algorithm x ranks 1-5, 8 x dtype x operation x odd counts x in place,
// with ranks as threads. A new algorithm is in it by being registered.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "support/ranks.h"
#include "support/values.h"
#include "weft/registry.h"

namespace weft::testing {
namespace {

using C = Collective;

constexpr DType kAllTypes[] = {
    DType::kBool, DType::kU8,  DType::kI8,   DType::kU16,    DType::kI16,   DType::kU32,
    DType::kI32,  DType::kU64, DType::kI64,  DType::kF16,    DType::kBF16,  DType::kF32,
    DType::kF64,  DType::kC64, DType::kC128, DType::kF8E4M3, DType::kF8E5M2};
constexpr ReduceOp kAllOps[] = {ReduceOp::kSum,    ReduceOp::kProd,  ReduceOp::kMin,
                                ReduceOp::kMax,    ReduceOp::kAvg,   ReduceOp::kPremulSum,
                                ReduceOp::kBitAnd, ReduceOp::kBitOr, ReduceOp::kBitXor};
// Empty, one, less than a rank each, odd, over the inline payload, several chunks with a tail.
constexpr std::size_t kCounts[] = {0, 1, 3, 17, 1000, 30011};

bool reduces(C c) { return c == C::kAllreduce || c == C::kReduce || c == C::kReduceScatter; }
bool rooted(C c) {
  return c == C::kBroadcast || c == C::kReduce || c == C::kGather || c == C::kScatter;
}
bool input_per_rank(C c) { return c == C::kReduceScatter || c == C::kAlltoall || c == C::kScatter; }
bool output_per_rank(C c) { return c == C::kAllgather || c == C::kAlltoall || c == C::kGather; }

// What rank `rank` contributes at element `i`. Products stay small: few twos, else ones.
double contribution(DType dtype, ReduceOp op, int rank, std::size_t i) {
  auto r = static_cast<std::size_t>(rank);
  if (dtype == DType::kBool) return (i + r) % 3 != 0;
  if (op == ReduceOp::kProd) return (i + r) % 4 == 0 ? 2 : 1;
  return static_cast<double>((i * 7 + r * 3) % 5 + 1);
}

// After so many elements, contributions are those of the first again.
constexpr std::size_t kPeriod = 60;

double reduced(DType dtype, ReduceOp op, int ranks, std::size_t i) {
  double result = contribution(dtype, op, 0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    double x = contribution(dtype, op, rank, i);
    auto a = static_cast<unsigned>(result), b = static_cast<unsigned>(x);
    switch (op) {
      case ReduceOp::kSum:
        result = dtype == DType::kBool ? (result != 0 || x != 0) : result + x;
        break;
      case ReduceOp::kAvg:
      case ReduceOp::kPremulSum:
        result += x;
        break;
      case ReduceOp::kProd:
        result *= x;
        break;
      case ReduceOp::kMin:
        result = std::min(result, x);
        break;
      case ReduceOp::kMax:
        result = std::max(result, x);
        break;
      case ReduceOp::kBitAnd:
        result = a & b;
        break;
      case ReduceOp::kBitOr:
        result = a | b;
        break;
      case ReduceOp::kBitXor:
        result = a ^ b;
        break;
    }
  }
  if (op == ReduceOp::kAvg) result /= ranks;
  if (op == ReduceOp::kPremulSum) result *= 0.5;
  return result;
}

double tolerance(DType dtype, ReduceOp op) {
  if (op != ReduceOp::kAvg) return 0;  // everything else is exact on these values
  switch (dtype) {
    case DType::kBF16:
      return 1.0 / 128;
    case DType::kF16:
      return 1.0 / 1024;
    case DType::kF32:
    case DType::kC64:
      return 1e-6;
    default:
      return 1e-14;
  }
}

struct Case {
  C collective;
  std::string algorithm;
  DType dtype;
  ReduceOp op;
  std::size_t count;
  int root;
  bool in_place;

  std::string name() const {
    return algorithm + " " + std::string(name_of(dtype)) + " " + std::string(name_of(op)) +
           " count=" + std::to_string(count) + " root=" + std::to_string(root) +
           (in_place ? " in place" : "");
  }
};

class Member {
 public:
  Member(Communicator& comm, const Case& c)
      : comm_(comm),
        c_(c),
        ranks_(comm.size()),
        me_(comm.rank()),
        in_count_(c.count * (input_per_rank(c.collective) ? static_cast<std::size_t>(ranks_) : 1)),
        out_count_(c.count *
                   (output_per_rank(c.collective) ? static_cast<std::size_t>(ranks_) : 1)),
        input_(c.dtype, in_count_),
        output_(c.dtype, out_count_) {}

  void run_and_check() {
    fill();
    Call call{c_.collective, input_.data(), output_.data(), c_.count,
              c_.dtype,      c_.op,         c_.root,        0.5};
    call.algorithm = c_.algorithm;
    if (c_.in_place) place(call);
    comm_.run(call);
    check();
  }

 private:
  void fill() {
    input_.fill(0, in_count_, kPeriod, [&](std::size_t i) { return contributed(i); });
    output_.fill(0, out_count_, 1, [](std::size_t) { return 0.0; });
  }

  double contributed(std::size_t i) const { return contribution(c_.dtype, c_.op, me_, i); }

  // The larger buffer holds the smaller one, as communicator.h says.
  void place(Call& call) {
    std::size_t own = static_cast<std::size_t>(me_) * c_.count;
    if (input_per_rank(c_.collective) == output_per_rank(c_.collective)) {
      result_ = &input_;
      call.output = input_.data();
    } else if (output_per_rank(c_.collective)) {
      output_.fill(own, in_count_, kPeriod, [&](std::size_t i) { return contributed(i); });
      call.input = output_.at(own);
    } else {
      result_ = &input_;
      first_ = own;
      call.output = input_.at(own);
    }
  }

  double expected(std::size_t i) const {
    auto block = static_cast<int>(c_.count ? i / c_.count : 0);
    std::size_t within = c_.count ? i % c_.count : 0;
    std::size_t own = static_cast<std::size_t>(me_) * c_.count;
    switch (c_.collective) {
      case C::kAllreduce:
      case C::kReduce:
        return reduced(c_.dtype, c_.op, ranks_, i);
      case C::kReduceScatter:
        return reduced(c_.dtype, c_.op, ranks_, own + i);
      case C::kBroadcast:
        return contribution(c_.dtype, c_.op, c_.root, i);
      case C::kScatter:
        return contribution(c_.dtype, c_.op, c_.root, own + i);
      case C::kAllgather:
      case C::kGather:
        return contribution(c_.dtype, c_.op, block, within);
      case C::kAlltoall:
        return contribution(c_.dtype, c_.op, block, own + within);
      default:
        return 0;
    }
  }

  void check() {
    bool has_output =
        (c_.collective != C::kReduce && c_.collective != C::kGather) || c_.root == me_;
    EXPECT_TRUE(input_.guards_intact() && output_.guards_intact()) << c_.name();
    const bool exact = tolerance(c_.dtype, c_.op) == 0;
    if (!has_output || (exact && all_expected().same_bytes(*result_, first_))) return;
    for (std::size_t i = 0; i < out_count_; ++i) {
      double want = expected(i), got = result_->get(first_ + i);
      if (std::abs(got - want) <= tolerance(c_.dtype, c_.op) * std::abs(want)) continue;
      ADD_FAILURE() << c_.name() << ": rank " << me_ << " of " << ranks_ << ", element " << i
                    << " is " << got << ", not " << want;
      return;
    }
    EXPECT_FALSE(exact) << c_.name() << ": rank " << me_ << " of " << ranks_ << ": other bytes";
  }

  Array all_expected() const {
    Array want(c_.dtype, out_count_);
    for (std::size_t block = 0; block < out_count_; block += c_.count) {
      want.fill(block, c_.count, kPeriod, [&](std::size_t i) { return expected(block + i); });
    }
    return want;
  }

  Communicator& comm_;
  const Case& c_;
  const int ranks_, me_;
  const std::size_t in_count_, out_count_;
  Array input_, output_;
  Array* result_ = &output_;
  std::size_t first_ = 0;
};

// With other parameters than by default; [1,0,0,2,0]: nodes of three, one and one, not in order.
const char* const kConfigured[] = {
    "allreduce/multi_leader(node=2,outer=rabenseifner)",
    "allreduce/multi_leader(node=3,leaders=2,inner=direct,outer=recursive_doubling)",
    "allreduce/multi_leader(node=4,leaders=1,inner=rabenseifner,outer=direct)",
    "allreduce/multi_leader(node=2,pieces=4,outer=rabenseifner)",
    "allreduce/multi_leader(node=3,pieces=2)",
    "allreduce/two_shot(ahead=3)",
    "allgather/direct(ahead=7)",
    "reduce_scatter/direct(ahead=7)",
    "alltoall/direct(ahead=7)",
    "broadcast/chain_walk(tree=[6,5,6,5,7,7,7,-1])",
    "broadcast/chain_reversed(node=3)",
    "broadcast/two_level(node=3,overlap=0)",
    "allreduce/two_level(place=[1,0,0,2,0],wide=0)",
    "reduce_scatter/two_level(place=[1,0,0,2,0])",
    "allgather/two_level(place=[1,0,0,2,0])",
    "alltoall/two_level(node=3)",
    "alltoall/two_level(node=5)",
    "reduce/two_level(place=[1,0,0,2,0],outer=chain)",
    "reduce/two_level(node=3,leaders=1)",
};

// All cases of one algorithm, which may be given with parameters. Every dtype and operation at one
// count, where not only races are looked for; every count at one dtype.
// Types are the kernels' affair, not the fabric's or the threads'.
bool few_types() { return kFindsRaces || !ranks_are_threads(); }

std::vector<Case> cases_of(const std::string& algorithm, int ranks) {
  C c = find_algorithm(algorithm).collective;
  std::vector<Case> cases;
  for (DType dtype : kAllTypes) {
    for (ReduceOp op : kAllOps) {
      if (reduces(c) ? !reducible(dtype, op) : op != ReduceOp::kSum) continue;
      // Array's complex numbers are (x, -x), whose products leave the small integers.
      if (op == ReduceOp::kProd && (dtype == DType::kC64 || dtype == DType::kC128)) continue;
      for (std::size_t count : kCounts) {
        bool every_count = op == ReduceOp::kSum && (dtype == DType::kF32 || dtype == DType::kBF16);
        if (!every_count && (count != 17 || few_types())) continue;
        for (int root = 0; root < (rooted(c) ? std::min(ranks, 3) : 1); ++root)
          for (bool in_place : {false, true})
            cases.push_back({c, algorithm, dtype, op, count, root, in_place});
      }
    }
  }
  return cases;
}

class Grid : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Grid, Correct) {
  auto [algorithm, ranks] = GetParam();
  Algorithm found = find_algorithm(algorithm);
  std::string refusal = found.refuses ? found.refuses(ranks, found.preset) : "";
  // The symmetric ones are in symmetric_test.cc: they need buffers that peers can reach.
  if (algorithm == "allreduce/direct" && ranks > 1) refusal = "symmetric";
  if (!refusal.empty()) GTEST_SKIP() << refusal;
  std::vector<Case> cases = cases_of(algorithm, ranks);
  run_ranks(ranks, [&](Communicator& comm) {
    for (const Case& c : cases) Member(comm, c).run_and_check();
  });
}

// Five ranks for plans of several levels, also where types are few.
std::vector<int> rank_counts() { return few_types() ? std::vector{2, 3, 5} : kRankCounts; }

std::vector<std::string> collective_algorithms() {
  std::vector<std::string> names;
  for (const std::string& name : builtin_algorithm_names()) {
    C c = find_algorithm(name).collective;
    if (c != C::kBarrier && c != C::kSendRecv) names.push_back(name);
  }
  names.insert(names.end(), std::begin(kConfigured), std::end(kConfigured));
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Grid,
                         ::testing::Combine(::testing::ValuesIn(collective_algorithms()),
                                            ::testing::ValuesIn(rank_counts())),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           auto is_mark = [](unsigned char c) { return !std::isalnum(c); };
                           std::replace_if(name.begin(), name.end(), is_mark, '_');
                           return name + "_" + std::to_string(std::get<1>(info.param));
                         });

// What runs by default for more than 16 ranks: rows by size, which smaller groups never take.
TEST(ManyRanks, DefaultsAreCorrect) {
  if (!ranks_are_threads()) GTEST_SKIP() << "19 processes are too many for a test";
  run_ranks(19, [](Communicator& comm) {
    for (C c :
         {C::kAllreduce, C::kBroadcast, C::kReduce, C::kAllgather, C::kReduceScatter, C::kAlltoall})
      for (DType dtype : {DType::kF32, DType::kBF16})
        for (std::size_t count : kCounts)
          Member(comm, {c, "", dtype, ReduceOp::kSum, count, 0, false}).run_and_check();
  });
}

}  // namespace
}  // namespace weft::testing
