#include "fabric/composite/words.h"

#include <sstream>

#include "weft/error.h"

namespace weft::composite {

std::string Words::text(std::string_view mark) const {
  return std::string(mark) + ' ' + std::to_string(near.size()) + ' ' + near + ' ' + far;
}

Words Words::parse(std::string_view mark, const std::string& text, const std::string& what) {
  std::istringstream in(text);
  std::string word;
  std::size_t length = 0;
  if (!(in >> word >> length) || word != mark) {
    throw InvalidArgument("not " + what + ": \"" + text.substr(0, 80) +
                          "\"; give every rank the same kind of fabric");
  }
  const auto begin = static_cast<std::size_t>(in.tellg()) + 1;
  if (begin > text.size() || length >= text.size() - begin) {
    throw InvalidArgument("damaged: " + what + ": \"" + text.substr(0, 80) + "\"");
  }
  return {text.substr(begin, length), text.substr(begin + length + 1)};
}

}  // namespace weft::composite
