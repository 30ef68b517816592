// A fabric whose ranks are the processes of one job of MPI or OpenSHMEM, which exchange mail.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/far_fabric.h"
#include "fabric/mail/native_lane.h"
#include "fabric/mail/site.h"
#include "fabric/process.h"
#include "fabric/segments.h"
#include "fabric/token.h"

namespace weft::mail {

// What the ranks of one job share: its name, and the place of this rank in it.
struct Job {
  Token id{};
  int rank = -1;
  bool operator==(const Job&) const = default;
};

// Memory of users is this process's own, as in all fabrics. Payloads go by slots, so no peer reads
// or writes it.
class MailFabric : public FarFabric {
 public:
  // `launcher`: the command that starts a job, for messages to people.
  MailFabric(std::string_view name, std::string_view launcher, const Job& job,
             std::unique_ptr<Lines> lines);
  ~MailFabric() override;

  std::string_view name() const override { return name_; }
  bool inherited() const override { return mark_.forked(); }
  std::string address() const override;
  std::string obstacle(const std::string& address) const override;
  std::unique_ptr<Endpoint> open(const std::vector<std::string>& addresses, int me,
                                 Clock::time_point deadline) override;

  SymmetricBlock allocate(std::size_t bytes, MemoryUse use) override;
  void release(const SymmetricBlock& block) override;
  Location locate(const void* data, std::size_t bytes) const override;
  bool isolate(void* data, std::size_t bytes) override;

  std::uint32_t announce() override { return site_->announce(); }
  void sleep(std::uint32_t announced) override { site_->sleep(announced); }
  void retire() override { site_->retire(); }
  void ring() override { site_->ring(); }
  void expect_crowd() override { site_->expect_crowd(); }

  void adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) override;
  void disown(const SymmetricBlock& block) override;
  void forward_rings(std::function<void()> instead) override;

 protected:
  const std::shared_ptr<Site>& site() const { return site_; }
  const ForkMark mark_;

 private:
  // For a lane of these ranks of the job; -1: a member that another fabric serves.
  virtual std::unique_ptr<NativeLane> native_lane(const std::vector<int>& ranks) {
    (void)ranks;
    return nullptr;
  }

  struct Address;
  Address own() const;

  const std::string_view name_, launcher_;
  const Token enrolled_;
  const Job job_;
  const std::shared_ptr<Segments> segments_;
  const std::shared_ptr<Site> site_;
};

}  // namespace weft::mail
