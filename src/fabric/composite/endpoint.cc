#include "fabric/composite/endpoint.h"

#include <algorithm>

#include "fabric/composite/words.h"
#include "weft/error.h"

namespace weft::composite {
namespace {

constexpr std::string_view kTicketMark = "lanes";

}  // namespace

CompositeEndpoint::CompositeEndpoint(std::unique_ptr<Endpoint> near, std::unique_ptr<Endpoint> far,
                                     std::vector<bool> is_near)
    : Endpoint(std::min(near->depth(), far->depth())),
      near_(std::move(near)),
      far_(std::move(far)) {
  for (const bool one : is_near) by_peer_.push_back(one ? near_.get() : far_.get());
}

std::string CompositeEndpoint::ticket() const {
  return Words{near_->ticket(), far_->ticket()}.text(kTicketMark);
}

void CompositeEndpoint::connect(const std::vector<std::string>& tickets,
                                Clock::time_point deadline) {
  std::vector<std::string> near, far;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const Words words = Words::parse(kTicketMark, tickets[i],
                                     "rank " + std::to_string(i) + "'s ticket of two lanes");
    near.push_back(words.near);
    far.push_back(words.far);
  }
  near_->connect(near, deadline);
  far_->connect(far, deadline);
}

void CompositeEndpoint::begin(std::uint64_t sequence, std::span<std::byte> written) {
  near_->begin(sequence, written);
  far_->begin(sequence, written);
}

int CompositeEndpoint::end(Outcome outcome) {
  const int near = near_->end(outcome), far = far_->end(outcome);
  return near == kNobody ? far : near;
}

void CompositeEndpoint::abort(const std::string& why) {
  near_->abort(why);
  far_->abort(why);
}

std::string CompositeEndpoint::why_aborted() const {
  const std::string near = near_->why_aborted();
  return near.empty() ? far_->why_aborted() : near;
}

}  // namespace weft::composite
