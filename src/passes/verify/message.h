// What the verifier knows of a message besides who has received and credited it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "execute/streams.h"
#include "passes/verify/clocks.h"
#include "passes/verify/memory.h"
#include "passes/verify/scenario.h"
#include "passes/verify/values.h"

namespace weft::verifier {

enum class Payload : std::uint8_t {
  kNothing,
  kSlot,  // in the sender's slot, whole since it was sent
  kLazy,  // a put: in the sender's buffer, read when the reader reads
};

// When one destination of a message last looked at the payload.
struct Destination {
  Access last;             // the rank is set from the start; time 0: it has not received it
  bool delivered = false;  // the payload lies in the destination's output, from cell `target` on
  std::size_t target = 0;
};

struct Message {
  int rank = 0;
  int channel = 0;
  int run = 0;
  Event event = 0;  // the step that sent it
  Payload payload = Payload::kNothing;
  std::size_t extent = 0;  // elements of the range that it goes with
  Sum sum = 0;             // and their number for all counts
  std::size_t count = 0;   // elements of the payload
  std::size_t source = 0;  // first cell of a put's source
  bool stale = false;      // the source was written since
  Access flush;            // of the sender, after it; none: not flushed
  std::vector<Value> values;
  std::vector<Destination> destinations;
  std::vector<std::uint32_t> clock;

  // Says where the sender's buffers are, in the room that a payload would take.
  bool bare() const { return payload == Payload::kNothing; }
};

// A message to one of its destinations.
struct Entry : execute::Entry {
  MessageId message = kNone;
  std::uint32_t destination = 0;
};

}  // namespace weft::verifier
