// The order in which callbacks run that Python attaches to the futures of collectives.
//
// A callback may start collectives: PowerSGD's does, and those of the quantization hooks. Without
// strands a callback runs when its future completes, or at once on the thread that attaches it if
// the future has completed. On one rank that may be before the next collective, on another rank
// after it. So
//   - a callback never runs on the thread that attaches it;
//   - callbacks that one strand attaches to futures of one group run on a strand of their own, one
//     after another, in the order in which they were attached;
//   - collectives that a strand of callbacks starts have a communicator of their own.
// Ranks that run the same program then start the same collectives in the same order on each
// communicator, whatever the time is: the program attaches the same callbacks in the same order, so
// the strand of those callbacks is the same program on all ranks too, and so on down.
//
// A callback waits for the one before it. That loses nothing and blocks nothing, since collectives
// of a group finish in order; futures of point to point do not, so theirs run as torch runs them.
#pragma once

#include <functional>
#include <string>

namespace weft::torch_adapter {

// The strand that this thread runs; empty on the program's own threads. Equal on all ranks.
const std::string& current_strand();

// The strand of the callbacks that this strand attaches to futures of the group of that name.
std::string strand_of_callbacks(const std::string& group);

// Runs `task` on a thread of the completion pool, after what was posted to `strand` before.
// A task must not throw. Thread safe. Throws std::system_error if there can be no thread.
void post_in_order(const std::string& strand, std::function<void()> task);

}  // namespace weft::torch_adapter
