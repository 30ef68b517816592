#include "fabric/mpi/mpi_fabric.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "base/futex.h"
#include "base/host.h"
#include "base/membarrier.h"
#include "fabric/members.h"
#include "fabric/mpi/library.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

constexpr auto kLookEvery = std::chrono::microseconds(50);
constexpr int kLooks = 20;

// Weft's own communicator, so that no receive of the program takes Weft's mail.
Comm own_communicator(const Mpi& mpi) {
  Group all = mpi.group(mpi.world());
  const Comm comm = mpi.create_group(mpi.world(), all, 0);
  mpi.free(all);
  mpi.return_errors(comm);
  return comm;
}

Token token_of_rank_0(const Mpi& mpi, Comm comm) {
  Token token = Token::random();
  Request request = mpi.ibcast(token.bytes.data(), token.bytes.size(), mpi.bytes(), 0, comm);
  mpi.wait(request);
  return token;
}

}  // namespace

// "mpi <token of the job> <rank in the job> <host>"
struct MpiFabric::Address {
  struct Name {  // of one fabric
    Token job{};
    int rank = -1;
    bool operator==(const Name&) const = default;
  };
  Name token{};
  std::string host;

  static Address parse(const std::string& text) {
    std::istringstream in(text);
    std::string word, hex, host;
    int rank = -1;
    in >> word >> hex >> rank >> host;
    const auto job = Token::parse(hex);
    if (word != "mpi" || !job || rank < 0)
      throw InvalidArgument("not the address of a fabric over MPI: " + text.substr(0, 80));
    return {{*job, rank}, host};
  }
  std::string obstacle(const Address& peer) const {
    if (peer.token.job == token.job) return "";
    return "it belongs to another MPI job (host " + peer.host +
           "): start all ranks with one mpirun";
  }
};

MpiFabric::MpiFabric() : enrolled_(Token::random()) {
  const Mpi& mpi = library();
  const Comm comm = own_communicator(mpi);
  job_ = token_of_rank_0(mpi, comm);
  rank_ = mpi.rank(comm);
  site_ = std::make_shared<Site>(mpi, comm);
  register_heavy_fence();
  enrol_local(enrolled_, site_);
}

MpiFabric::~MpiFabric() {
  if (!mark_.forked()) withdraw_local(enrolled_);
}

MpiFabric::Address MpiFabric::own() const { return {{job_, rank_}, host_identity().name}; }

std::string MpiFabric::address() const {
  return "mpi " + job_.hex() + ' ' + std::to_string(rank_) + ' ' + host_identity().name;
}

std::string MpiFabric::obstacle(const std::string& address) const {
  return own().obstacle(Address::parse(address));
}

std::unique_ptr<Endpoint> MpiFabric::open(const std::vector<std::string>& addresses, int me,
                                          Clock::time_point) {
  mark_.check();
  const auto members = parse_members(name(), own(), addresses, me);
  std::vector<int> ranks;
  for (const Address& member : members) ranks.push_back(member.token.rank);
  return std::make_unique<MpiEndpoint>(site_, std::move(ranks), me);
}

SymmetricBlock MpiFabric::allocate(std::size_t bytes, MemoryUse use) {
  mark_.check();
  return site_->segments.allocate(bytes, use);
}

void MpiFabric::release(const SymmetricBlock& block) {
  if (!mark_.forked()) site_->segments.release(block);
}

Location MpiFabric::locate(const void* data, std::size_t bytes) const {
  return site_->segments.locate(data, bytes);
}

bool MpiFabric::isolate(void* data, std::size_t bytes) {
  return site_->segments.isolate(data, bytes);
}

void MpiFabric::sleep(std::uint32_t announced) {
  for (int look = 0; look < kLooks && !site_->progress(); ++look) {
    // relaxed: the caller looks again at what it waits for.
    if (site_->doorbell.bell.load(std::memory_order_relaxed) != announced) break;
    futex_wait(site_->doorbell.bell, announced, kLookEvery);
  }
  retire();
}

}  // namespace weft::mpi
