#include <algorithm>
#include <cctype>

#include "weft/error.h"
#include "weft/plan.h"

namespace weft {
namespace {

[[noreturn]] void mistake(const Param& param, const char* kind) {
  throw InvalidArgument("parameter value " + to_text(param) + " is not " + kind);
}

bool is_word(const std::string& text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

}  // namespace

Param::Param(std::string word) : value_(std::move(word)) {
  if (!is_word(this->word()))
    throw InvalidArgument("\"" + this->word() +
                          "\" as the value of a parameter: give a number, a list of numbers, or a "
                          "word of letters, digits and _");
}

int Param::number() const {
  if (const int* number = std::get_if<int>(&value_)) return *number;
  mistake(*this, "a number");
}

const std::string& Param::word() const {
  if (const auto* word = std::get_if<std::string>(&value_)) return *word;
  mistake(*this, "a word");
}

const std::vector<int>& Param::list() const {
  if (const auto* list = std::get_if<std::vector<int>>(&value_)) return *list;
  mistake(*this, "a list");
}

const Param& param_of(const Params& params, const std::string& name, const Param& fallback) {
  auto found = params.find(name);
  if (found == params.end()) return fallback;
  if (found->second.value().index() != fallback.value().index())
    throw InvalidArgument("parameter " + name + " = " + to_text(found->second) +
                          ": give one like " + to_text(fallback));
  return found->second;
}

std::string to_text(const Param& param) {
  if (const int* number = std::get_if<int>(&param.value())) return std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&param.value())) return *word;
  std::string text;
  for (int number : param.list()) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

}  // namespace weft
