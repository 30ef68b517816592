#include "fabric/mpi/native_comms.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "fabric/mpi/library.h"
#include "fabric/ticket.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

// MPI promises tags up to 32767.
constexpr std::uint64_t kTags = 32768;

std::vector<NativeOffer> offers_of(const std::vector<std::string>& tickets) {
  std::vector<NativeOffer> offers;
  for (std::size_t i = 0; i < tickets.size(); ++i)
    offers.push_back(NativeOffer::parse(tickets[i], i));
  return offers;
}

}  // namespace

std::string NativeOffer::text() const {
  std::ostringstream out;
  out << " natives " << mark << ' ' << begun << ' ' << next << ' ' << room;
  return out.str();
}

NativeOffer NativeOffer::parse(const std::string& ticket, std::size_t place) {
  const std::string word = " natives ";
  const std::size_t at = ticket.rfind(word);
  NativeOffer offer;
  if (at == std::string::npos) return offer;
  std::istringstream in(ticket.substr(at + word.size()));
  if (!(in >> offer.mark >> offer.begun >> offer.next >> offer.room))
    throw InvalidArgument(rank(place) + "damaged ticket of a lane");
  return offer;
}

NativeComms::NativeComms(const Mpi& its, Comm comm) : mpi(its), parent(its.copy(comm)) {
  mpi.return_errors(parent);
}

NativeOffer NativeComms::offer(const std::vector<int>& ranks, std::shared_ptr<NativeComm>& kept) {
  std::lock_guard lock(mutex_);
  NativeOffer offer;
  const auto fits = [&](const auto& one) { return !one->taken && one->ranks == ranks; };
  if (const auto found = std::ranges::find_if(comms_, fits); found != comms_.end()) {
    kept = *found;
    kept->taken = true;
    offer.mark = kept->mark;
    offer.begun = kept->begun;
  }
  offer.next = ++marks_;
  offer.room = comms_.size() + promised_ < kMost;
  promised_ += offer.room ? 1 : 0;
  return offer;
}

void NativeComms::settle(const NativeOffer& offer) {
  std::lock_guard lock(mutex_);
  promised_ -= offer.room ? 1 : 0;
}

std::shared_ptr<NativeComm> NativeComms::add(std::vector<int> ranks, std::uint64_t mark,
                                             Comm comm) {
  std::lock_guard lock(mutex_);
  return comms_.emplace_back(
      std::make_shared<NativeComm>(NativeComm{std::move(ranks), mark, comm}));
}

void NativeComms::give_back(const std::shared_ptr<NativeComm>& comm) {
  std::lock_guard lock(mutex_);
  comm->taken = !comm->quiet();
}

MpiNativeLane::MpiNativeLane(std::shared_ptr<NativeComms> comms, std::vector<int> ranks)
    : comms_(std::move(comms)), ranks_(std::move(ranks)), offer_(comms_->offer(ranks_, comm_)) {}

MpiNativeLane::~MpiNativeLane() {
  if (mark_.forked()) return;
  if (offered_) comms_->settle(offer_);
  drop();
}

void MpiNativeLane::drop() {
  if (comm_) comms_->give_back(comm_);
  comm_ = nullptr;
}

void MpiNativeLane::agree(const std::vector<std::string>& tickets) {
  if (!std::exchange(offered_, false)) return;
  const std::vector<NativeOffer> offers = offers_of(tickets);
  const NativeOffer& first = offers.front();
  const bool again = std::ranges::all_of(offers, [&](const NativeOffer& offer) {
    return offer.mark != 0 && offer.mark == first.mark && offer.begun == first.begun;
  });
  if (!again) drop();
  if (!again && std::ranges::all_of(offers, &NativeOffer::room))
    comm_ = comms_->add(ranks_, first.next, make(first.next));
  comms_->settle(offer_);
}

// The tag tells lanes apart that several threads make at the same time.
Comm MpiNativeLane::make(std::uint64_t mark) const {
  const Mpi& mpi = comms_->mpi;
  const Comm parent = comms_->parent;
  std::unique_lock lock(library_mutex());
  const auto size = static_cast<std::uint64_t>(mpi.size(parent));
  const std::uint64_t tag = (mark * size + static_cast<std::uint64_t>(ranks_.front())) % kTags;
  Group all = mpi.group(parent);
  Group members = mpi.include(all, ranks_);
  if (mpi.query_thread() == Level::kMultiple) lock.unlock();
  const Comm comm = mpi.create_group(parent, members, static_cast<int>(tag));
  mpi.free(members);
  mpi.free(all);
  mpi.return_errors(comm);
  return comm;
}

}  // namespace weft::mpi
