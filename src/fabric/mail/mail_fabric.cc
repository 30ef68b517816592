#include "fabric/mail/mail_fabric.h"

#include <unistd.h>

#include <sstream>
#include <utility>

#include "base/host.h"
#include "base/membarrier.h"
#include "fabric/location.h"
#include "fabric/mail/endpoint.h"
#include "fabric/members.h"
#include "weft/error.h"

namespace weft::mail {

// "mail <token of the job> <rank in the job> <name> <process> <host>"
struct MailFabric::Address {
  Job token{};  // of one rank
  std::string name;
  int process = 0;
  std::string host, launcher{};

  static Address parse(const std::string& text) {
    std::istringstream in(text);
    std::string word, hex, name, host;
    int rank = -1, process = 0;
    in >> word >> hex >> rank >> name >> process >> host;
    const auto job = Token::parse(hex);
    if (word != "mail" || !job || rank < 0)
      throw InvalidArgument("not the address of a rank of a job: " + text.substr(0, 80));
    return {{*job, rank}, name, process, host};
  }
  std::string obstacle(const Address& peer) const {
    if (peer.token.id == token.id) return "";
    return "it belongs to another job of " + peer.name + " (host " + peer.host +
           "): start all ranks with one " + launcher;
  }
};

MailFabric::MailFabric(std::string_view name, std::string_view launcher, const Job& job,
                       std::unique_ptr<Lines> lines)
    : name_(name),
      launcher_(launcher),
      enrolled_(Token::random()),
      job_(job),
      segments_(std::make_shared<Segments>()),
      site_(std::make_shared<Site>(std::move(lines))) {
  register_heavy_fence();
  enrol_local(enrolled_, segments_);
}

MailFabric::~MailFabric() {
  if (!mark_.forked()) withdraw_local(enrolled_);
}

MailFabric::Address MailFabric::own() const {
  return {job_, std::string(name_), ::getpid(), host_identity().name, std::string(launcher_)};
}

std::string MailFabric::address() const {
  const Address here = own();
  return "mail " + here.token.id.hex() + ' ' + std::to_string(here.token.rank) + ' ' + here.name +
         ' ' + std::to_string(here.process) + ' ' + here.host;
}

std::string MailFabric::obstacle(const std::string& address) const {
  return own().obstacle(Address::parse(address));
}

std::unique_ptr<Endpoint> MailFabric::open(const std::vector<std::string>& addresses, int me,
                                           Clock::time_point) {
  mark_.check();
  const auto members = parse_members(name(), own(), addresses, me);
  std::vector<int> ranks;
  std::vector<std::string> processes;
  for (const Address& member : members) {
    ranks.push_back(member.token.rank);
    processes.push_back("process " + std::to_string(member.process) + " (on host " + member.host +
                        ", " + site_->lines->describe(member.token.rank) + ")");
  }
  auto native = native_lane(ranks);
  return std::make_unique<MailEndpoint>(site_, std::move(ranks), me, std::move(processes),
                                        std::move(native));
}

SymmetricBlock MailFabric::allocate(std::size_t bytes, MemoryUse use) {
  mark_.check();
  const SymmetricBlock block = segments_->allocate(bytes, use);
  // The mapping outlives the release, if something is still being sent from it.
  adopt(block, segments_->find(segment_of(block.where))->mapping);
  return block;
}

void MailFabric::release(const SymmetricBlock& block) {
  if (mark_.forked()) return;
  disown(block);
  segments_->release(block);
}

Location MailFabric::locate(const void* data, std::size_t bytes) const {
  return segments_->locate(data, bytes);
}

bool MailFabric::isolate(void* data, std::size_t bytes) { return segments_->isolate(data, bytes); }

void MailFabric::adopt(const SymmetricBlock& block, std::shared_ptr<void> memory) {
  mark_.check();
  site_->adopt(block, std::move(memory));
}

void MailFabric::disown(const SymmetricBlock& block) {
  if (!mark_.forked()) site_->disown(block);
}

void MailFabric::forward_rings(std::function<void()> instead) {
  site_->forward_rings(std::move(instead));
}

}  // namespace weft::mail
