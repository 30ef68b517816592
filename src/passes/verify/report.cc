#include "passes/verify/report.h"

#include <array>

#include "weft/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 9> kFaultNames = {"wrong result", "race",     "slot reuse",
                                                         "put source",   "deadlock", "contract",
                                                         "malformed",    "claim",    "opaque"};

}  // namespace

std::string_view name_of(Fault fault) {
  auto i = static_cast<std::size_t>(fault);
  if (i >= kFaultNames.size()) throw InternalError("no fault " + std::to_string(i));
  return kFaultNames[i];
}

std::string to_text(const VerifyReport& report) {
  std::string text;
  for (const Finding& finding : report.findings)
    text += std::string(name_of(finding.fault)) + " on rank " + std::to_string(finding.rank) +
            "\n  at " + finding.step + "\n  " + finding.text + "\n\n";
  if (!report.ok()) return text;
  return "proved in " + std::to_string(report.scenarios) + " scenarios: " +
         (report.consistent ? "identical bits on all ranks" : "bits may differ between ranks") +
         (report.reproducible ? ", reproducible" : "") +
         (report.narrowings
              ? ", rounded for the wire at most " + std::to_string(report.narrowings) +
                    (report.narrowings == 1 ? " time" : " times")
              : "") +
         (report.rounds_partials ? ", partial sums of narrow types are rounded" : "") + "\n";
}

namespace verifier {

std::string describe(const Plan& plan, const RankPosition& position) {
  if (position.step == RankPosition::kStart) return "the start of the call";
  if (position.step == RankPosition::kEnd) return "the end of the call";
  const Section& section = plan.programs[static_cast<std::size_t>(position.rank)]
                                        [static_cast<std::size_t>(position.section)];
  std::string text = "section " + std::to_string(position.section);
  if (section.rounds > 1) text += ", round " + std::to_string(position.round);
  if (section.chunked) text += ", trip " + std::to_string(position.trip);
  if (section.steps.empty()) return text;
  return text + ": " + to_text(section.steps[static_cast<std::size_t>(position.step)]);
}

void Findings::begin(const std::string& scenario) {
  scenario_ = scenario;
  in_scenario_ = 0;
}

void Findings::add(Fault fault, const Plan& plan, const RankPosition& position,
                   const std::string& text) {
  ++in_scenario_;
  auto key = std::tuple(fault, position.rank, position.run, position.section, position.round,
                        position.step);
  if (full() || !seen_.insert(key).second) return;
  found_.push_back({fault, position.rank, describe(plan, position),
                    scenario_.empty() ? text : text + " (" + scenario_ + ")"});
}

}  // namespace verifier
}  // namespace weft
