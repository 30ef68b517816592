// Reads the text form (plan/text.h) by recursive descent, a line at a time.
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "plan/check.h"
#include "plan/text.h"
#include "plan/verbs.h"
#include "weft/error.h"

namespace weft {
namespace {

// The words of one line. A word that is asked for and not there ends the parse.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw InvalidPlan("plan text, line " + std::to_string(number_) + ", column " +
                      std::to_string(at_ + 1) + ": " + why + " in \"" + around() + "\"");
  }

  bool empty() {
    skip();
    return at_ == text_.size();
  }

  // Takes `symbol` if it comes next; a symbol of letters only as a whole word.
  bool take(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    std::size_t end = at_ + symbol.size();
    if (in_word(symbol.back()) && end < text_.size() && in_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  void need(std::string_view symbol) {
    if (!take(symbol)) fail("expected '" + std::string(symbol) + "'");
  }

  std::int32_t number(std::int32_t least = std::numeric_limits<std::int32_t>::min(),
                      std::int32_t most = std::numeric_limits<std::int32_t>::max()) {
    skip();
    std::int32_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number");
    if (value < least || value > most)
      fail("expected a number from " + std::to_string(least) + " to " + std::to_string(most));
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  bool at_letter() { return !empty() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0; }

  // Everything up to a space or '='.
  std::string word() {
    skip();
    std::size_t from = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '=') ++at_;
    if (at_ == from) fail("expected a word");
    return std::string(text_.substr(from, at_ - from));
  }

  // "name=" and its number.
  std::int32_t field(std::string_view name, std::int32_t least) {
    need(name);
    need("=");
    return number(least);
  }

  void end() {
    if (!empty()) fail("expected the end of the line");
  }

 private:
  // The line, or of a long one what lies about the place.
  std::string around() const {
    constexpr std::size_t kMost = 120;
    if (text_.size() <= kMost) return std::string(text_);
    const std::size_t from = at_ < kMost / 2 ? 0 : at_ - kMost / 2;
    return (from > 0 ? "..." : "") + std::string(text_.substr(from, kMost)) + "...";
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  std::string_view text_;
  int number_;
  std::size_t at_ = 0;
};

Param parse_param(Line& line) {
  if (line.take("[")) {
    std::vector<int> list;
    if (line.take("]")) return list;
    do list.push_back(line.number());
    while (line.take(","));
    line.need("]");
    return list;
  }
  if (!line.at_letter()) return line.number();
  try {
    return line.word();
  } catch (const InvalidArgument& error) {
    line.fail(error.what());
  }
}

Index parse_index(Line& line) {
  Index index;
  if (!line.take("(")) {
    index.base = line.number();
    // "2 + output[...]" cannot follow an index where "2+(" can: operands start with letters.
    if (!line.take("+(")) return index;
  }
  index.first = line.number();
  bool back = line.take("-");
  if (!back) line.need("+");
  index.stride = line.number(0);
  if (back) index.stride = -index.stride;
  line.need("*i)%");
  index.modulus = line.number(1);
  return index;
}

Range parse_range(Line& line, Buffer buffer) {
  line.need("[");
  Range range{buffer, parse_index(line), 1};
  if (line.take(",")) range.blocks = line.number(0);
  line.need("]");
  return range;
}

Range parse_range(Line& line) {
  for (Buffer buffer : {Buffer::kInput, Buffer::kOutput})
    if (line.take(name_of(buffer))) return parse_range(line, buffer);
  line.fail("expected input[...] or output[...]");
}

std::uint8_t parse_channel(Line& line) {
  return static_cast<std::uint8_t>(line.number(0, kMaxChannels - 1));
}

Operand parse_operand(Line& line, int own) {
  Operand operand;
  if (line.take("slot")) {
    operand.buffer = Buffer::kSlot;
    line.need("[");
    operand.channel = parse_channel(line);
    line.need("]");
  } else {
    operand.range = parse_range(line);
    operand.buffer = operand.range.buffer;
  }
  operand.rank = line.take("@") ? parse_index(line) : Index(own);
  return operand;
}

std::vector<Operand> parse_operands(Line& line, std::string_view between, int own) {
  std::vector<Operand> operands;
  do operands.push_back(parse_operand(line, own));
  while (line.take(between));
  return operands;
}

// "-> 1, 2 on 0" after its arrow.
void parse_peers(Line& line, Step& step) {
  do step.peers.push_back(parse_index(line));
  while (line.take(","));
  line.need("on");
  step.channel = parse_channel(line);
}

Verb parse_verb(Line& line) {
  for (int i = 0; i < kVerbs; ++i)
    if (auto verb = static_cast<Verb>(i); line.take(name_of(verb))) return verb;
  line.fail("expected rank, chunks, once or a verb");
}

void parse_moves(Line& line, Step& step, int own) {
  step.dst = parse_operands(line, ",", own);
  line.need("=");
  step.tree = step.verb == Verb::kReduce && line.take("tree");
  if (step.tree) line.need("(");
  step.src = parse_operands(line, "+", own);
  if (step.tree) line.need(")");
}

void parse_put(Line& line, Step& step, int own) {
  auto operands = parse_operands(line, ",", own);
  if (line.take("=")) {
    step.dst = std::move(operands);
    step.src = {parse_operand(line, own)};
  } else {
    if (operands.size() != 1) line.fail("expected one source");
    step.src = std::move(operands);
  }
  line.need("->");
  parse_peers(line, step);
}

Step parse_step(Line& line, int own) {
  Step step;
  if (line.take("lag")) {
    step.lag = static_cast<std::uint8_t>(line.number(0, 255));
    line.need(":");
  }
  step.verb = parse_verb(line);
  if (step.verb == Verb::kReduce) step.last = line.take("!");
  const VerbTraits& verb = traits_of(step.verb);
  if (verb.moves)
    verb.sends() ? parse_put(line, step, own) : parse_moves(line, step, own);
  else if (verb.peers != Peers::kNone)
    parse_peers(line, step);
  if (step.verb == Verb::kCopy && step.src.size() != 1) line.fail("expected one source");
  step.extent = line.take("for") ? parse_range(line) : range_of(step);
  return step;
}

class PlanParser {
 public:
  void read(Line& line) {
    if (!named_) {
      read_plan(line);
    } else if (plan_.programs.empty() && line.take("params")) {
      while (!line.empty()) read_param(line);
    } else if (plan_.programs.empty() && line.take("channel")) {
      read_channel(line);
    } else if (line.take("rank")) {
      read_rank(line);
    } else {
      if (plan_.programs.empty()) line.fail("expected params, channel or rank");
      read_program(line, plan_.programs.back());
    }
    line.end();
  }

  Plan finish(Line& line) && {
    if (!named_) line.fail("expected a plan");
    if (plan_.programs.size() != static_cast<std::size_t>(plan_.shape.ranks))
      line.fail("expected " + std::to_string(plan_.shape.ranks) + " ranks, found " +
                std::to_string(plan_.programs.size()));
    return std::move(plan_);
  }

 private:
  void read_plan(Line& line) {
    line.need("plan");
    plan_.shape.algorithm = line.word();
    line.need("collective");
    line.need("=");
    auto collective = line.word();
    try {
      plan_.shape.collective = parse_collective(collective);
    } catch (const InvalidArgument& error) {
      line.fail(error.what());
    }
    plan_.shape.ranks = line.field("ranks", 1);
    plan_.shape.input_blocks = line.field("input", 0);
    plan_.shape.output_blocks = line.field("output", 0);
    plan_.shape.equal_counts = line.take("equal");
    plan_.shape.in_place = line.take("in_place");
    named_ = true;
  }

  void read_param(Line& line) {
    auto name = line.word();
    line.need("=");
    if (!plan_.shape.params.emplace(name, parse_param(line)).second)
      line.fail(name + " is given twice");
  }

  void read_channel(Line& line) {
    auto& channels = plan_.shape.channels;
    if (channels.size() == static_cast<std::size_t>(kMaxChannels)) line.fail("too many channels");
    if (line.number() != static_cast<int>(channels.size()))
      line.fail("expected channel " + std::to_string(channels.size()));
    int slots = line.field("slots", 1);
    const Width width = line.take("wide")     ? Width::kWide
                        : line.take("narrow") ? Width::kNarrow
                                              : Width::kPlain;
    channels.push_back({slots, width});
  }

  void read_rank(Line& line) {
    if (line.number() != static_cast<int>(plan_.programs.size()))
      line.fail("expected rank " + std::to_string(plan_.programs.size()));
    plan_.programs.emplace_back();
  }

  void read_program(Line& line, Program& program) {
    bool chunked = line.take("chunks");
    if (chunked || line.take("once")) {
      Section& section = program.emplace_back();
      section.chunked = chunked;
      if (!line.empty()) section.rounds = line.field("rounds", 1);
    } else {
      if (program.empty()) line.fail("expected chunks or once");
      int own = static_cast<int>(plan_.programs.size()) - 1;
      program.back().steps.push_back(parse_step(line, own));
    }
  }

  Plan plan_;
  bool named_ = false;
};

}  // namespace

Plan parse_plan(std::string_view text) {
  PlanParser parser;
  int number = 0;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    Line line(row.substr(0, row.find('#')), ++number);
    if (!line.empty()) parser.read(line);
  }
  Line last("", number);
  return std::move(parser).finish(last);
}

}  // namespace weft
