// Algorithms as users write them: "multi_leader(node=4,order=[0,2,1],chunk=64K)".
#include <cctype>
#include <charconv>
#include <limits>

#include "weft/choice.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kUnits = "KMG";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Choice choice() {
    Choice choice{take_until("(="), {}, 0};
    if (choice.algorithm.empty()) fail("begins with no name");
    if (!take('(')) {
      end();
      return choice;
    }
    if (take(')')) fail("has nothing between its parentheses");
    do parameter(choice);
    while (take(','));
    need(')');
    end();
    return choice;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("algorithm \"" + std::string(text_.substr(0, 200)) + "\" " + what +
                          ": write a name, or name(parameter=value,...), such as "
                          "multi_leader(node=4,pieces=2,chunk=64K)");
  }

  void parameter(Choice& choice) {
    const std::string name = take_until("=,)");
    if (name.empty() || !take('=')) fail("has a parameter without a value");
    if (name == "chunk") {
      if (choice.chunk != 0) fail("says chunk twice");
      choice.chunk = bytes();
    } else if (!choice.params.emplace(name, value()).second) {
      fail("says " + name + " twice");
    }
  }

  Param value() {
    if (take('[')) return list();
    if (!at_letter()) return integer();
    return take_until(",)");
  }

  std::vector<int> list() {
    std::vector<int> numbers;
    if (take(']')) return numbers;
    do numbers.push_back(integer());
    while (take(','));
    need(']');
    return numbers;
  }

  std::size_t bytes() {
    const auto number = static_cast<std::size_t>(integer());
    skip();
    const std::size_t unit = at_ < text_.size() ? kUnits.find(text_[at_]) : kUnits.npos;
    if (unit != kUnits.npos) ++at_;
    if (static_cast<int>(number) < 1) fail("has a chunk that is not positive");
    return unit == kUnits.npos ? number : number << (10 * (unit + 1));
  }

  int integer() {
    skip();
    int number = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) fail("lacks a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }

  // The text before any of `ends`, without the spaces around it.
  std::string take_until(std::string_view ends) {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && ends.find(text_[at_]) == ends.npos) ++at_;
    std::size_t to = at_;
    while (to > from && std::isspace(static_cast<unsigned char>(text_[to - 1]))) --to;
    return std::string(text_.substr(from, to - from));
  }

  bool at_letter() {
    skip();
    return at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]));
  }

  bool take(char symbol) {
    skip();
    if (at_ == text_.size() || text_[at_] != symbol) return false;
    ++at_;
    return true;
  }

  void need(char symbol) {
    if (!take(symbol)) fail(std::string("lacks a '") + symbol + "'");
  }

  void end() {
    skip();
    if (at_ < text_.size()) fail("goes on after its end");
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string bytes_text(std::size_t bytes) {
  std::string unit;
  for (char next : kUnits) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + unit;
}

}  // namespace

Choice parse_choice(std::string_view text) { return Parser(text).choice(); }

std::string to_text(const Choice& choice) {
  std::string inside;
  const auto add = [&](const std::string& name, const std::string& value) {
    inside += (inside.empty() ? "" : ",") + name + "=" + value;
  };
  for (const auto& [name, value] : choice.params) add(name, to_text(value));
  if (choice.chunk != 0) add("chunk", bytes_text(choice.chunk));
  return inside.empty() ? choice.algorithm : choice.algorithm + "(" + inside + ")";
}

}  // namespace weft
