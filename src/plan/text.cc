#include "plan/text.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#include "plan/check.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kBufferNames = {"input", "output", "slot"};

std::string number(std::int64_t value) { return std::to_string(value); }

std::string operand_text(const Operand& operand, const Index* own) {
  std::string text = operand.buffer == Buffer::kSlot ? "slot[" + number(operand.channel) + "]"
                                                     : to_text(operand.range);
  if (own == nullptr || operand.rank != *own) text += "@" + to_text(operand.rank);
  return text;
}

std::string list(const std::vector<Operand>& operands, const char* between, const Index* own) {
  std::string text;
  for (const Operand& operand : operands)
    text += (text.empty() ? "" : between) + operand_text(operand, own);
  return text;
}

std::string list(const std::vector<Index>& indexes) {
  std::string text;
  for (const Index& index : indexes) text += (text.empty() ? "" : ", ") + to_text(index);
  return text;
}

// `own` is the rank whose step it is; null: not known, so every operand says its rank.
std::string step_text(const Step& step, const Index* own) {
  std::string text = step.lag > 0 ? "lag " + number(step.lag) + ": " : "";
  text += name_of(step.verb);
  if (step.last) text += "!";
  if (!step.dst.empty()) text += " " + list(step.dst, ", ", own) + " =";
  if (!step.src.empty())
    text += (step.tree ? " tree(" : " ") + list(step.src, " + ", own) + (step.tree ? ")" : "");
  if (step.verb == Verb::kPut) text += " ->";
  if (!step.peers.empty()) text += " " + list(step.peers) + " on " + number(step.channel);
  if (step.extent != range_of(step)) text += " for " + to_text(step.extent);
  return text;
}

std::string header_text(const PlanShape& shape) {
  std::string text = "plan " + shape.algorithm +
                     " collective=" + std::string(name_of(shape.collective)) +
                     " ranks=" + number(shape.ranks) + " input=" + number(shape.input_blocks) +
                     " output=" + number(shape.output_blocks) +
                     (shape.equal_counts ? " equal" : "") + (shape.in_place ? " in_place\n" : "\n");
  if (!shape.params.empty()) {
    text += "params";
    for (const auto& [name, value] : shape.params) text += " " + name + "=" + to_text(value);
    text += "\n";
  }
  for (std::size_t i = 0; i < shape.channels.size(); ++i) {
    const Channel& channel = shape.channels[i];
    text += "channel " + std::to_string(i) + " slots=" + number(channel.slots) +
            (channel.width == Width::kWide     ? " wide\n"
             : channel.width == Width::kNarrow ? " narrow\n"
                                               : "\n");
  }
  return text;
}

std::string section_text(const Section& section, const Index& own) {
  std::string text = section.chunked ? "  chunks" : "  once";
  if (section.rounds != 1) text += " rounds=" + number(section.rounds);
  text += "\n";
  for (const Step& step : section.steps) text += "    " + step_text(step, &own) + "\n";
  return text;
}

}  // namespace

std::string_view name_of(Buffer buffer) {
  auto i = static_cast<std::size_t>(buffer);
  if (i >= kBufferNames.size()) throw InternalError("no buffer " + std::to_string(i));
  return kBufferNames[i];
}

std::string to_text(const Index& index) {
  if (index == Index(index.base)) return number(index.base);
  std::string text = index.base == 0 ? "" : number(index.base) + "+";
  text += "(" + number(index.first) + (index.stride < 0 ? "-" : "+");
  text += number(std::abs(static_cast<std::int64_t>(index.stride))) + "*i)%";
  return text + number(index.modulus);
}

std::string to_text(const Range& range) {
  std::string text = std::string(name_of(range.buffer)) + "[" + to_text(range.block);
  if (range.blocks != 1) text += ", " + number(range.blocks);
  return text + "]";
}

std::string to_text(const Step& step) { return step_text(step, nullptr); }

std::string to_text(const Plan& plan) {
  std::string text = header_text(plan.shape);
  for (std::size_t rank = 0; rank < plan.programs.size(); ++rank) {
    text += "rank " + std::to_string(rank) + "\n";
    Index own(static_cast<int>(rank));
    for (const Section& section : plan.programs[rank]) text += section_text(section, own);
  }
  return text;
}

}  // namespace weft
