// Which loop copies: by the processor's profile, the kind of memory, the sizes of copy and buffer.
#include "kernels/copy.h"

#include <algorithm>

#include "base/machine_model.h"
#include "kernels/isa.h"
#include "kernels/strings.h"

namespace weft::kernels {
namespace {

// Small enough that the second read finds the piece in the first-level cache.
constexpr std::size_t kPiece = 8192;

class Copier {
 public:
  // Chosen at the first use, for the life of the process.
  static const Copier& chosen() {
    static const Copier copier(machine_model().copies, chosen_table());
    return copier;
  }

  Copier(const CopyProfile& profile, const Table& table) : profile_(profile), table_(table) {}

  bool is_plain(std::size_t bytes, Filling filling) const {
    return rule(filling).loop(bytes, std::max(filling.whole, bytes)) == CopyLoop::kPlain;
  }

  void copy(void* dst, const void* src, std::size_t bytes, Filling filling) const {
    const CopyLoop loop =
        profile_.loop(rule(filling), dst, src, bytes, std::max(filling.whole, bytes));
    if (loop == CopyLoop::kStream) return table_.copy_stream(dst, src, bytes);
    if (loop == CopyLoop::kParts) return table_.copy_parts(dst, src, bytes);
#if defined(__x86_64__)
    if (loop != CopyLoop::kPlain)
      return copy_string(dst, src, bytes, table_.copy_plain, loop == CopyLoop::kFetching);
#endif
    table_.copy_plain(dst, src, bytes);
  }

 private:
  const CopyRule& rule(Filling filling) const {
    return profile_.rules[static_cast<std::size_t>(filling.to)];
  }

  const CopyProfile profile_;
  const Table& table_;
};

}  // namespace

void copy_many(void* dst, const void* src, std::size_t bytes, Filling filling) {
  if (dst != src) Copier::chosen().copy(dst, src, bytes, filling);
}

bool is_plain(std::size_t bytes, Filling filling) {
  return Copier::chosen().is_plain(bytes, filling);
}

void copy(CopyTarget first, CopyTarget second, const void* src, std::size_t bytes) {
  const auto* from = static_cast<const char*>(src);
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    copy(static_cast<char*>(first.data) + done, from + done, piece, first.filling);
    copy(static_cast<char*>(second.data) + done, from + done, piece, second.filling);
  }
}

}  // namespace weft::kernels
