// The cost model: messages of the least depth arrive all at once, when every rank waits.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "passes/cost/network.h"
#include "passes/cost/time_domain.h"

namespace weft::cost {

// Used once. All arguments outlive it. Not thread safe.
class Pricing final : public TimeDomain {
 public:
  // Steps and messages are added to `timeline`, if there is one.
  Pricing(const Programs& programs, const Call& call, const Topology& topology,
          Timeline* timeline = nullptr);

  // Throws InvalidPlan if ranks wait for ever.
  Price run();

 private:
  void carry(const Flow& flow, std::int32_t depth) override;

  Network network_;
  std::map<std::int32_t, std::vector<Flow>> flows_;  // by depth
  // Where the latest flow was put: the next one is mostly of the same depth.
  std::vector<Flow>* latest_ = nullptr;
  std::int32_t latest_depth_ = 0;
};

}  // namespace weft::cost
