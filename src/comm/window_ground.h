// What a window needs of the communicator that it is made over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/rendezvous.h"
#include "engine/lane.h"

namespace weft {

struct WindowGround {
  int rank, size, priority;
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Fate> fate;
  std::function<void()> interrupt;
  std::chrono::milliseconds timeout;
  Exchange exchange;                   // among all ranks, over the communicator
  std::vector<std::string> addresses;  // of the ranks' fabrics
};

}  // namespace weft
