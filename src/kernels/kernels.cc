#include "kernels/kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/environment.h"
#include "kernels/isa.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct Candidate {
  Isa isa;
  bool runs;
};

// The best first. The builtin asks the processor and whether the system saves its registers.
std::vector<Candidate> candidates() {
  std::vector<Candidate> list;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool f16c = __builtin_cpu_supports("f16c");
  const bool avx512 = f16c && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq");
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  list.push_back({{"avx512", &kAvx512Table}, avx512});
  list.push_back({{"avx2", &kAvx2Table}, avx2});
#endif
  list.push_back({{"baseline", &kBaselineTable}, true});
  return list;
}

// Chosen at the first use, for the life of the process.
const Isa& chosen_isa() {
  static const Isa& chosen = choose_isa(Environment::read().isa.c_str());
  return chosen;
}

}  // namespace

std::span<const Isa> available_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> runnable;
    for (const Candidate& candidate : candidates()) {
      if (candidate.runs) runnable.push_back(candidate.isa);
    }
    return runnable;
  }();
  return isas;
}

const Isa& choose_isa(const char* wanted) {
  const std::span<const Isa> runnable = available_isas();
  if (!wanted || !*wanted) return runnable.front();
  for (const Isa& isa : runnable) {
    if (isa.name == wanted) return isa;
  }
  std::string names;
  for (const Candidate& candidate : candidates()) {
    if (candidate.isa.name == wanted) {
      throw Unsupported("WEFT_ISA=" + std::string(wanted) + ": this processor cannot run it; use " +
                        std::string(runnable.front().name) + " or unset the variable");
    }
    names.append(names.empty() ? "" : ", ").append(candidate.isa.name);
  }
  throw InvalidArgument("WEFT_ISA=" + std::string(wanted) + " is not one of " + names);
}

ReduceFn find_reduce(DType dtype, ReduceOp op) {
  return reducible(dtype, op) ? chosen_isa().table->at(dtype, op) : nullptr;
}

SplitSgdFn find_split_sgd() { return chosen_isa().table->split_sgd; }

std::string_view instruction_set() { return chosen_isa().name; }

const Table& chosen_table() { return *chosen_isa().table; }

}  // namespace weft::kernels
