// The rendezvous of the members of an MPI communicator: each key is sent to all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/mpi/mpi.h"
#include "weft/store.h"

namespace weft {

// One thread at a time.
class MpiStore final : public Store {
 public:
  // `comm`: Weft's own. `interrupt`: see CommunicatorOptions.
  MpiStore(const mpi::Mpi& mpi, mpi::Comm comm, std::function<void()> interrupt);
  // What is still being sent, and the communicator, are left behind unless close() was called.
  ~MpiStore() override;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, std::chrono::milliseconds timeout) override;
  // Frees the communicator. All members call it, and each has got all keys of the others.
  void close();

 private:
  struct Incoming {
    std::string text;
    mpi::Request request{};
  };
  struct Outgoing {
    std::string text;
    std::vector<mpi::Request> requests;
  };
  void look();
  void look(int peer);

  const mpi::Mpi& mpi_;
  mpi::Comm comm_;
  const std::function<void()> interrupt_;
  int rank_ = 0, size_ = 1;
  std::map<std::string, std::string> values_;
  std::vector<std::unique_ptr<Incoming>> incoming_;  // by rank
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
};

}  // namespace weft
