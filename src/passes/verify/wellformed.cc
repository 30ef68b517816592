#include "passes/verify/wellformed.h"

#include <algorithm>
#include <string>

#include "passes/verify/excess.h"
#include "passes/verify/scenario.h"
#include "plan/check.h"
#include "plan/verbs.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft::verifier {
namespace {

std::string number(int value) { return std::to_string(value); }

bool fits(const Index& index) { return index.modulus >= 1; }

bool fits(const Operand& operand) { return fits(operand.rank) && fits(operand.range.block); }

// All indexes can be evaluated.
bool evaluates(const Step& step) {
  return fits(step.extent.block) &&
         std::ranges::all_of(step.peers, [](const Index& i) { return fits(i); }) &&
         std::ranges::all_of(step.dst, [](const Operand& o) { return fits(o); }) &&
         std::ranges::all_of(step.src, [](const Operand& o) { return fits(o); });
}

// The step as it is in one round.
Step at_round(Step step, int round) {
  auto fix = [round](Index& index) { index = Index(index.at(round)); };
  fix(step.extent.block);
  for (Index& peer : step.peers) fix(peer);
  for (auto* operands : {&step.dst, &step.src})
    for (Operand& operand : *operands) {
      fix(operand.rank);
      fix(operand.range.block);
    }
  return step;
}

// The rules that a builder cannot break but a parsed plan can.
std::string fault_of_shape(const Step& step) {
  if (step.verb == Verb::kCopy && step.src.size() != 1) return "copies other than one source";
  if (step.dst.size() > 1 && step.dst[0] == step.dst[1]) return "names one destination twice";
  if (step.verb == Verb::kPut && step.src.size() != 1) return "puts other than one source";
  const VerbTraits& verb = traits_of(step.verb);
  if (verb.peers == Peers::kSource && step.peers.size() != 1) return "names other than one source";
  if (!verb.moves && (!step.dst.empty() || !step.src.empty()))
    return "has operands, but moves nothing";
  return {};
}

std::string fault_of_buffers(const Step& step, const PlanShape& shape) {
  for (const auto* operands : {&step.dst, &step.src})
    for (const Operand& operand : *operands) {
      int owner = operand.rank.base;
      bool there = operand.buffer == Buffer::kSlot ||
                   (operand.buffer == Buffer::kInput ? has_input : has_output)(shape, owner);
      if (!there)
        return "names the " + std::string(name_of(operand.buffer)) + " of rank " + number(owner) +
               ", which has none in a " + std::string(name_of(shape.collective)) + " with root " +
               number(root_of(shape));
    }
  return {};
}

// A put's payload may be the very bytes of its source, so nothing converts them.
std::string fault_of_width(const Step& step, const PlanShape& shape) {
  const auto width = [&](int channel) {
    return shape.channels[static_cast<std::size_t>(channel)].width;
  };
  if (step.verb == Verb::kPut && width(step.channel) != Width::kPlain)
    return std::string("puts onto a ") + (width(step.channel) == Width::kWide ? "wide" : "narrow") +
           " channel: copy into the slot, which converts, and signal";
  if (step.dst.size() == 2 && step.dst[0].buffer == Buffer::kSlot &&
      step.dst[1].buffer == Buffer::kSlot &&
      (width(step.dst[0].channel) == Width::kNarrow) !=
          (width(step.dst[1].channel) == Width::kNarrow))
    return "fills a narrow slot and another one: write two steps";
  return {};
}

// What keeps a step from being executed at all is checked first; a plan whose operands are there
// may still have others than its collective.
std::string fault_in_round(const Step& step, const StepPlace& place, bool proves) {
  if (auto fault = fault_of(step, place); !fault.empty() || !proves) return fault;
  if (auto fault = fault_of_buffers(step, place.shape); !fault.empty()) return fault;
  return fault_of_width(step, place.shape);
}

std::string fault_of_sizes(const Plan& plan) {
  const PlanShape& shape = plan.shape;
  if (shape.ranks < 1) return "the plan has no rank";
  if (plan.programs.size() != static_cast<std::size_t>(shape.ranks))
    return "the plan has " + std::to_string(plan.programs.size()) + " programs for " +
           number(shape.ranks) + " ranks";
  if (shape.channels.size() > static_cast<std::size_t>(kMaxChannels))
    return "the plan has more than " + number(kMaxChannels) + " channels";
  for (const Channel& channel : shape.channels)
    if (channel.slots < 1) return "a channel has no slot";
  return {};
}

std::string fault_of_plan(const Plan& plan) {
  const PlanShape& shape = plan.shape;
  if (auto fault = fault_of_sizes(plan); !fault.empty()) return fault;
  Blocks fixed = fixed_blocks(shape.collective, shape.ranks);
  if (fixed.input >= 0 ? fixed.input != shape.input_blocks || fixed.output != shape.output_blocks
                       : shape.input_blocks < 1 || shape.output_blocks < 1)
    return "the plan's blocks are not those of its collective";
  if (shape.in_place && !traits_of(shape.collective).exchanges())
    return "declares that it may run in place, which is for alltoall to say";
  if (traits_of(shape.collective).is_pair() && shape.ranks != 2)
    return "a send and receive has two ranks";
  if (int root = root_of(shape); root < 0 || root >= shape.ranks)
    return "root " + number(root) + " is not a rank: give the parameter root";
  return {};
}

// Nothing else may run while nobody knows what an opaque step does.
std::string fault_of_opaque(const Program& program, const PlanShape& shape) {
  if (!is_opaque(program)) return {};
  const bool alone = program.size() == 1 && program[0].steps.size() == 1 &&
                     program[0].rounds == 1 && !program[0].chunked && shape.channels.empty();
  return alone ? "" : "has an opaque step beside other things: leave it alone in one once()";
}

// The first step of a rank that breaks a rule. Returns what, and where in `position`.
std::string fault_of_program(const Plan& plan, RankPosition& position, bool proves = true) {
  const Program& program = plan.programs[static_cast<std::size_t>(position.rank)];
  if (auto fault = fault_of_opaque(program, plan.shape); !fault.empty()) return fault;
  for (const Section& section : program) {
    position.step = 0;
    if (section.rounds < 1) return "a section has no round";
    for (position.step = 0; const Step& step : section.steps) {
      if (!evaluates(step)) return "an index has a modulus below 1";
      if (auto fault = fault_of_shape(step); !fault.empty()) return fault;
      for (position.round = 0; position.round < section.rounds; ++position.round) {
        StepPlace where{position.rank, plan.shape, section.chunked};
        auto fault = fault_in_round(at_round(step, position.round), where, proves);
        if (!fault.empty()) return fault;
      }
      position.round = 0;
      ++position.step;
    }
    ++position.section;
  }
  return {};
}

}  // namespace

void check_form(const Plan& plan, Findings& findings) {
  if (auto fault = fault_of_plan(plan); !fault.empty()) {
    findings.add(Fault::kMalformed, plan, {}, fault);
    return;
  }
  if (auto excess = excess_of(plan); !excess.empty()) {
    findings.add(Fault::kMalformed, plan, {}, excess);
    return;
  }
  bool formed = true;
  for (int rank = 0; rank < plan.shape.ranks; ++rank) {
    RankPosition position;
    position.rank = rank;
    auto fault = fault_of_program(plan, position);
    if (!fault.empty()) findings.add(Fault::kMalformed, plan, position, fault);
    formed = formed && fault.empty();
  }
  const auto opaque = std::ranges::find_if(plan.programs, is_opaque);
  if (!formed || opaque == plan.programs.end()) return;
  RankPosition position;
  position.rank = static_cast<int>(opaque - plan.programs.begin());
  position.step = 0;
  findings.add(Fault::kOpaque, plan, position,
               "is the fabric's own function, of which nothing is known: not proved");
}

void refuse_malformed(const Plan& plan) {
  const std::string name = "plan " + plan.shape.algorithm + ": ";
  if (auto fault = fault_of_sizes(plan); !fault.empty()) throw InvalidPlan(name + fault);
  for (int rank = 0; rank < plan.shape.ranks; ++rank) {
    RankPosition position;
    position.rank = rank;
    if (auto fault = fault_of_program(plan, position, false); !fault.empty())
      throw InvalidPlan(name + "rank " + number(rank) + ", " + describe(plan, position) + ": " +
                        fault);
  }
}

}  // namespace weft::verifier
