#include "fabric/pieces.h"

#include <utility>

#include "fabric/mapping.h"

namespace weft {
namespace {

std::shared_ptr<const UniqueFd> make_file(std::size_t bytes) {
  return std::make_shared<const UniqueFd>(make_memory(bytes));
}

}  // namespace

Piece Pieces::take(std::size_t bytes) {
  if (bytes > kLarge) return {make_file(bytes), 0};
  // Huge pages fit only where they also begin in the file.
  const std::size_t unit = bytes >= kHugePage ? kHugePage : 1;
  std::size_t begin = (used_ + unit - 1) / unit * unit;
  std::shared_ptr<const UniqueFd> file = file_.lock();
  if (!file || begin + bytes > kFile) {
    file = make_file(kFile);
    file_ = file;
    begin = 0;
  }
  used_ = begin + bytes;
  return {std::move(file), begin};
}

}  // namespace weft
