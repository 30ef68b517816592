// A fabric for pairs that share no memory. It may work beside a fabric for pairs that do, and then
// sends from that fabric's memory.
#pragma once

#include <functional>
#include <memory>

#include "fabric/fabric.h"

namespace weft {

class FarFabric : public Fabric {
 public:
  // Payloads may lie in `block` from now on. `memory` keeps its bytes, until nothing is sent from
  // them any more after disown().
  virtual void adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) = 0;
  // Throws InvalidArgument if it was not adopted.
  virtual void disown(const SymmetricBlock& block) = 0;
  // From now on every ring is a call of `instead`, and nobody calls sleep(): threads sleep at the
  // other fabric's bell, between announce() and retire() of both. Before the first open().
  virtual void forward_rings(std::function<void()> instead) = 0;
};

}  // namespace weft
