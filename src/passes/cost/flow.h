// One message on its way.
#pragma once

#include <cstdint>

namespace weft::cost {

struct Flow {
  int from = 0, to = 0;
  double ready = 0;  // when it is sent
  double bytes = 0;
  std::uint32_t entry = 0;  // the caller's
  std::int32_t stream = 0;  // whose message it is: its flows all go from `from` to `to`
  // Found by the carrier of the message.
  double left = 0;  // the sender's source may be written again
  double arrival = 0;
};

}  // namespace weft::cost
