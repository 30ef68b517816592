// A tensor that is registered with a window, and what ranks know of each other's.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "operation.h"
#include "weft/communicator.h"
#include "weft/window.h"

namespace weft::torch_adapter {

// A rank's tensor.
struct Shape {
  at::ScalarType type;
  std::int64_t elements;
};

// The waits for one peer's signal. A wait takes the next number, and waits until the peer has
// signalled so often. Not thread safe.
class Tickets {
 public:
  std::uint64_t take();
  // Of a wait that has failed: the next one waits in its place.
  void give_back(std::uint64_t ticket) { given_back_.insert(ticket); }

 private:
  std::uint64_t last_ = 0;
  std::set<std::uint64_t> given_back_;
};

// Thread safe once it is made. Closes the window at its end, without the GIL.
struct Registration {
  ~Registration();

  // Throws BadArgument for a rank that there is not.
  const Shape& shape(const Site& site, std::int64_t rank) const;
  std::uint64_t take_ticket(int peer);
  void give_back(int peer, std::uint64_t ticket);
  // Collective: waits until all that ranks have put is in place. Throws as weft::Window does.
  void end_together(std::chrono::milliseconds timeout);

  std::optional<at::Tensor> owned;
  std::vector<Shape> shapes;  // by rank
  std::mutex mutex;
  std::vector<Tickets> tickets;  // by peer; under mutex
  // Its signals: one of each peer, then one of each peer that says that it ends.
  std::shared_ptr<weft::Window> window;
};

// Collective. Throws BadArgument on all ranks if one rank's tensor is refused.
std::shared_ptr<Registration> register_tensor(Communicator& communicator, const Site& site,
                                              const at::Tensor& tensor, bool owning);

}  // namespace weft::torch_adapter
