// Two words in one: what the near fabric says and what the far one does.
#pragma once

#include <string>
#include <string_view>

namespace weft::composite {

struct Words {
  std::string near, far;

  // "<mark> <length of near> <near> <far>"
  std::string text(std::string_view mark) const;
  // Throws InvalidArgument naming `what` it was to be.
  static Words parse(std::string_view mark, const std::string& text, const std::string& what);
};

}  // namespace weft::composite
