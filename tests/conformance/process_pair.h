// Two processes and a fabric: this one as rank 0, and as rank 1 this very binary, started again
// with a part to play in its environment (by WEFT_TEST_EMULATOR, where the machine cannot start it
// by itself).
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/fabrics.h"

namespace weft::testing {

// What both sides of a part do.
constexpr std::size_t kStored = 4096 * 3;
void fill(std::byte* data, std::size_t bytes, unsigned seed);
void exchange_rounds(LaneRank& r);
void churn(LaneRank& r);

// A child that plays `part` as rank 1, and this process as rank 0.
class Pair {
 public:
  Pair(const FabricKind& kind, const std::string& part);
  ~Pair() {
    kill();
    rank.reset();
    std::filesystem::remove_all(directory_);
  }

  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = -1;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  pid_t pid() const { return pid_; }

  std::optional<LaneRank> rank;

 private:
  void start(std::vector<std::string>& environment);

  std::string directory_;
  std::shared_ptr<Store> store_;
  pid_t pid_ = 0;
};

}  // namespace weft::testing
