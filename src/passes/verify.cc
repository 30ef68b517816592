#include "weft/verify.h"

#include <algorithm>

#include "passes/verify/expect.h"
#include "passes/verify/sequence.h"
#include "passes/verify/value_domain.h"
#include "passes/verify/wellformed.h"
#include "weft/error.h"

namespace weft {
namespace verifier {
namespace {

// Executes one call of each plan, and adds what is found to the report.
void execute(const std::vector<BoundPlan>& bound, const Claims& claims, Trees& trees,
             Findings& findings, VerifyReport& report) {
  findings.begin(bound[0].scenario->name);
  const Tree one_tree = trees.reproducible();
  ValueDomain domain(bound, trees, findings);
  bool done = domain.execute();
  ++report.scenarios;
  report.rounds_partials = report.rounds_partials || domain.rounds_partials();
  for (std::size_t i = 0; done && i < bound.size(); ++i) {
    Results results(*bound[i].plan, *bound[i].scenario, domain, i);
    results.check(trees, findings);
    if (claims.consistent) results.check_consistent(trees, findings);
    if (claims.reproducible) results.check_reproducible(one_tree, trees, findings);
    report.narrowings = std::max(report.narrowings, results.narrowings(trees));
    report.reproducible = report.reproducible && results.reproducible(one_tree);
    report.consistent = report.consistent && results.consistent();
  }
}

bool delivers(const Plan& plan) {
  for (const Program& program : plan.programs)
    for (const Section& section : program)
      for (const Step& step : section.steps)
        if (step.verb == Verb::kPut && !step.dst.empty()) return true;
  return false;
}

std::vector<Scenario> calls_of(const Plan& plan, int trips) {
  std::vector<Scenario> calls = scenarios_of(plan.shape, trips);
  if (!delivers(plan)) return calls;
  std::vector<Scenario> symmetric = calls;
  for (Scenario& call : symmetric) {
    call.symmetric = true;
    call.name += ", symmetric";
    calls.push_back(std::move(call));
  }
  return calls;
}

// All calls of `trips` chunks a block. A plan with fewer kinds of calls than another
// starts over with its first.
void execute_all(const std::vector<const Plan*>& plans, int trips, const Claims& claims,
                 Trees& trees, Findings& findings, VerifyReport& report) {
  std::vector<std::vector<Scenario>> calls;
  std::vector<Scenario> variables;
  std::size_t most = 0;
  for (const Plan* plan : plans) {
    variables.push_back(variables_of(plan->shape));
    calls.push_back(calls_of(*plan, trips));
    most = std::max(most, calls.back().size());
  }
  for (std::size_t call = 0; call < most && !findings.full(); ++call) {
    std::vector<BoundPlan> bound;
    for (std::size_t i = 0; i < plans.size(); ++i)
      bound.push_back({plans[i], &calls[i][call % calls[i].size()], &variables[i]});
    execute(bound, claims, trees, findings, report);
  }
}

VerifyReport prove(const std::vector<const Plan*>& plans, const VerifyOptions& options) {
  VerifyReport report;
  Findings findings;
  int most = options.max_trips;
  for (const Plan* plan : plans) {
    check_form(*plan, findings);
    if (options.max_trips < 0) most = std::max(most, enough_trips(*plan));
  }
  if (!findings.any()) {
    report.consistent = report.reproducible = true;
    Trees trees(plans[0]->shape.ranks);
    for (int trips = 0; trips <= most; ++trips)
      execute_all(plans, trips, options.claims, trees, findings, report);
  }
  report.findings = findings.take();
  report.consistent = report.consistent && report.ok();
  report.reproducible = report.reproducible && report.ok();
  return report;
}

}  // namespace

VerifyReport verify_sequence(const std::vector<Plan>& plans, const VerifyOptions& options) {
  if (plans.empty()) throw InvalidArgument("verify_sequence: give at least one plan");
  std::vector<const Plan*> all;
  for (const Plan& plan : plans) {
    if (plan.shape.ranks != plans[0].shape.ranks)
      throw InvalidArgument("verify_sequence: give plans of equal rank counts");
    all.push_back(&plan);
  }
  return prove(all, options);
}

}  // namespace verifier

VerifyReport verify(const Plan& plan, const VerifyOptions& options) {
  return verifier::prove({&plan}, options);
}

}  // namespace weft
