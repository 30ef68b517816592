// Mail over MPI's point to point messages, with the source named.
//
// A lane has two tags, one for mail and one for payloads. MPI keeps the order of messages with one
// tag from one rank. Four receives for mail are open for each peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/mail/line.h"
#include "fabric/mpi/library.h"
#include "fabric/mpi/mpi.h"
#include "fabric/process.h"

namespace weft::mpi {

class MpiLines final : public mail::Lines {
 public:
  // `comm`: Weft's own, never freed.
  MpiLines(const Mpi& mpi, Comm comm) : Lines(library_mutex()), mpi_(mpi), comm_(comm) {}

  bool may_call() const override { return !mark_.forked() && !mpi_.finalized(); }
  std::uint64_t claim(std::size_t members) override;
  void give_back(std::uint64_t number) override;
  bool is_number(std::uint64_t number, std::size_t members) const override;
  std::unique_ptr<mail::Line> open(std::uint64_t number, int rank, int place, int me) override;
  std::string describe(int rank) const override {
    return "rank " + std::to_string(rank) + " of the MPI job";
  }

 private:
  const ForkMark mark_;
  const Mpi& mpi_;
  const Comm comm_;
  std::vector<bool> in_use_;  // by number
};

}  // namespace weft::mpi
