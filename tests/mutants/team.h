// Ranks that are threads of this process and run plans over shared memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fabric/fabric.h"
#include "mutants/calls.h"

namespace weft::mutants {

enum class Outcome { kRight, kWrong, kHung };

struct Verdict {
  Outcome outcome = Outcome::kRight;
  std::string text;  // what went wrong, and in which call
};

// Not thread safe.
class Team {
 public:
  explicit Team(int ranks);
  // Runs the plan once for each of cases(), one after the other on a lane of its own.
  Verdict run(const Plan& plan);

 private:
  struct Member {
    std::shared_ptr<Fabric> fabric;
    std::shared_ptr<Engine> engine;
    SymmetricBlock symmetric;
    std::vector<double> ordinary;
  };
  std::vector<Member> members_;
};

}  // namespace weft::mutants
