// A put: one verb, and for each of its readers the way that copies least.
#include <algorithm>
#include <optional>

#include "engine/run.h"
#include "weft/error.h"

namespace weft {

namespace {

// While one exists this rank may store into peers' outputs. Throws Aborted.
class Stores {
 public:
  explicit Stores(Endpoint& endpoint) : endpoint_(endpoint) {
    if (!endpoint_.begin_stores()) throw Aborted(endpoint_.why_aborted());
  }
  ~Stores() { endpoint_.end_stores(); }
  Stores(const Stores&) = delete;

 private:
  Endpoint& endpoint_;
};

}  // namespace

// The sender's affair alone: a reader takes the payload from where the message says that it lies.
Run::Way Run::way_to(const Prepared& now, std::size_t i, const Span& part) {
  const Step& step = *now.step;
  const int peer = peer_of(step.peers[i]);
  Endpoint& endpoint = lane_->endpoint;
  if (!endpoint.loads(peer)) {
    const std::size_t bytes = part.count * binding_->element;
    const auto reader = static_cast<std::size_t>(step.peers[i].at(at_.round));
    if (!step.dst.empty() && remote_[reader].output && endpoint.lands(peer, bytes))
      return {Way::kLanded};
    return {endpoint.carries(peer, bytes) ? Way::kCarried : Way::kStaged};
  }
  if (step.dst.empty())
    return {binding_->where[static_cast<std::size_t>(step.src[0].buffer)] ? Way::kLoaded
                                                                          : Way::kStaged};
  // Never loaded: stores into lines that another core has read are slow, and the next call would
  // store its result into these.
  std::byte* const output = reachable(place(now, i), part);
  return {output ? Way::kDelivered : Way::kStaged, output};
}

bool Run::put(const Prepared& now, std::size_t chunk) {
  const Step& step = *now.step;
  if (!room(step)) return false;
  if (read_in_place_) confirm_reads();
  const Span part = span(now, chunk);
  const std::size_t bytes = part.count * binding_->element;
  const std::byte* const source = user(step.src[0], place(now, step.dst.size()), part);
  Header head = header(now.elements);
  head.bytes = static_cast<std::uint32_t>(bytes);
  if (bytes <= kInlineBytes) {
    send(step, head, source, 0, 0);
    return true;
  }
  ways_.clear();
  for (std::size_t i = 0; i < step.peers.size(); ++i) ways_.push_back(way_to(now, i, part));
  const auto any = [this](auto kind) {
    return std::ranges::find(ways_, kind, &Way::kind) != ways_.end();
  };
  const std::size_t slot = slot_offset(step.channel);
  const bool slotted = any(Way::kStaged) || any(Way::kCarried) || any(Way::kLanded);
  if (slotted && !slot_is_free(slot, slot + bytes)) return false;
  if (any(Way::kStaged)) kernels::copy(lane_->slots.at(slot), nullptr, source, bytes);
  std::optional<Stores> stores;
  if (any(Way::kDelivered)) stores.emplace(lane_->endpoint);
  for (std::size_t i = 0; i < step.peers.size(); ++i) put_to(now, i, part, head, source);
  ++lane_->sent[static_cast<std::size_t>(channel_of(step.channel))];
  return true;
}

void Run::put_to(const Prepared& now, std::size_t i, const Span& part, Header head,
                 const std::byte* source) {
  const Step& step = *now.step;
  const Index& to = step.peers[i];
  const std::size_t slot = slot_offset(step.channel),
                    buffer = static_cast<std::size_t>(step.src[0].buffer);
  switch (ways_[i].kind) {
    case Way::kLoaded:
      head.input =
          binding_->where[buffer] + static_cast<std::size_t>(source - binding_->user[buffer]);
      head.in_place = true;
      owe(to, step.channel, head.bytes);
      return send_to(to, step.channel, head, source, 0, 0);
    case Way::kDelivered:
      kernels::copy(ways_[i].output, nullptr, source, head.bytes);
      head.delivered = true;
      head.input = {offset_of(place(now, i), part)};
      return send_to(to, step.channel, head, nullptr, 0, 0);
    case Way::kLanded:
    case Way::kCarried:
      // The slot stays empty, and is taken all the same: slots are what keeps a sender from
      // getting further ahead than was proved.
      head.delivered = ways_[i].kind == Way::kLanded;
      head.input = {head.delivered ? offset_of(place(now, i), part) : 0};
      owe(to, step.channel, head.bytes);
      return send_to(to, step.channel, head, source, slot, slot + head.bytes);
    case Way::kStaged:
      head.input = lane_->slots.where(slot);
      return send_to(to, step.channel, head, lane_->slots.at(slot), slot, slot + head.bytes);
  }
}

void Run::owe(const Index& to, int plan_channel, std::size_t bytes) {
  const int peer = peer_of(to), channel = channel_of(plan_channel);
  debts_.push_back({peer, channel, lane_->stream(peer, channel).posted, bytes});
}

}  // namespace weft
