// Mail through pipes in the symmetric heap. If the reader maps the sender's heap, a longer payload
// stays in the sender's slot. Else it goes through a second pipe, and mail does not wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fabric/mail/line.h"
#include "fabric/process.h"
#include "fabric/shmem/process.h"

namespace weft::shmem {

// A lane's number is the offset of its pipes in the heap, one for each member.
class ShmemLines final : public mail::Lines {
 public:
  explicit ShmemLines(const Process& process) : Lines(process.mutex), process_(process) {}

  bool may_call() const override { return !mark_.forked() && !process_.shmem.is_over(); }
  std::uint64_t claim(std::size_t members) override;
  void give_back(std::uint64_t number) override;
  bool is_number(std::uint64_t number, std::size_t members) const override;
  std::unique_ptr<mail::Line> open(std::uint64_t number, int rank, int place, int me) override;
  std::string describe(int rank) const override {
    return "PE " + std::to_string(rank) + " of the OpenSHMEM job";
  }

 private:
  const ForkMark mark_;
  const Process& process_;
};

}  // namespace weft::shmem
