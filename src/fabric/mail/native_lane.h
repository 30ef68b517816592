// What a lane needs for the collectives of the library itself (fabric/natives.h). Optional.
#pragma once

#include <string>
#include <vector>

namespace weft::mail {

class NativeLane {
 public:
  virtual ~NativeLane() = default;
  // What this member says at the end of its ticket.
  virtual std::string offer() const = 0;
  // Whether agree() waits until all members have called it.
  virtual bool agrees_together() const = 0;
  // Once all members have connected.
  virtual void agree(const std::vector<std::string>& tickets) = 0;
};

}  // namespace weft::mail
