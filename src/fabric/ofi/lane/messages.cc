// Messages out and in: packets with their payloads, and payloads written into a mirror before them.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "fabric/delivery.h"
#include "fabric/location.h"
#include "fabric/ofi/lane/endpoint.h"
#include "weft/error.h"

namespace weft::ofi {

void OfiEndpoint::prepare(Outgoing& out) {
  const bool carried = !out.passing && parts_.port->seals() && out.bytes <= parts_.port->eager();
  for (Reader& reader : out.readers) {
    const Transfer transfer = may_deliver(out, reader) ? Transfer::kDelivered
                              : carried                ? Transfer::kCarried
                                                       : Transfer::kStaged;
    reader.transfer = static_cast<std::uint8_t>(transfer);
    reader.holds_source = transfer != Transfer::kStaged;
    reader.holds_slot = true;
  }
}

void OfiEndpoint::post(const Outgoing& out) {
  mark_.check();
  const auto staged = [](const Reader& reader) {
    return Transfer{reader.transfer} == Transfer::kStaged;
  };
  if (out.bytes > kInlineBytes && std::ranges::any_of(out.readers, staged)) stage(out);
  for (const Reader& reader : out.readers) send(out, reader);
}

void OfiEndpoint::send(const Outgoing& out, const Reader& reader) {
  assert(reader.peer != me_);
  Peer& to = at(reader.peer);
  ChannelState& state = state_of(reader.peer, out.channel);
  MessagePacket packet;
  packet.packet = {.pair = to.pair,
                   .kind = PacketKind::kMessage,
                   .channel = static_cast<std::uint8_t>(out.channel),
                   .credits = static_cast<std::uint16_t>(state.due),
                   .number = reader.number};
  state.told = state.due;
  state.bytes = 0;
  state.posted.add(out.bytes);
  packet.flags = exposed_ ? MessagePacket::kExposes : 0;
  packet.signature = out.signature;
  packet.bytes = static_cast<std::uint32_t>(out.bytes);
  if (out.bytes > kInlineBytes) return send_long(out, reader, packet);
  if (out.bytes > 0) std::memcpy(packet.body, out.source, out.bytes);
  parts_.port->send(to.remote->link(), &packet, packet.with_payload(), account(reader.peer));
}

void OfiEndpoint::send_long(const Outgoing& out, const Reader& reader, MessagePacket& packet) {
  Peer& to = at(reader.peer);
  Link& link = to.remote->link();
  const Transfer transfer{reader.transfer};
  if (transfer == Transfer::kDelivered) return deliver(out, reader, packet);
  packet.tail = transfer == Transfer::kCarried ? sizeof(Seal) : 0;
  Payload lying =
      transfer == Transfer::kCarried ? Payload{nullptr, out.source, out.bytes} : lies_in_slot(out);
  if (out.bytes <= parts_.port->eager()) {
    return parts_.port->send(link, &packet, MessagePacket::kHead, std::move(lying),
                             account(reader.peer));
  }
  const Location where = out.slot->where;
  const std::uint32_t segment = segment_of(where);
  if (to.asked != segment) to.remote->ask(segment, lying.source->bytes);
  to.asked = segment;
  parts_.port->write(link, std::move(lying), WriteMark::of(packet.packet), account(reader.peer));
  std::memcpy(packet.body, &where, sizeof where);
  parts_.port->send(link, &packet, MessagePacket::kWithPlace, account(reader.peer));
}

Payload OfiEndpoint::lies_in_slot(const Outgoing& out) {
  const Location where = out.slot->where;
  const std::uint32_t segment = segment_of(where);
  if (!source_ || source_->segment != segment) source_ = parts_.sources->find(segment);
  const std::uint64_t offset = offset_of(where);
  if (!source_ || offset > source_->bytes || out.bytes > source_->bytes - offset) {
    throw InternalError("a payload lies outside of the memory that is sent from");
  }
  return {source_, source_->data + offset, out.bytes};
}

const Header* OfiEndpoint::arrival(int peer, int channel, std::uint64_t number) {
  const Incoming& from = at(peer).incoming;
  if (const Header* const here = from.at(channel, number).header) return here;
  parts_.port->poke();
  return from.at(channel, number).header;
}

Delivery OfiEndpoint::payload(int peer, int channel, std::uint64_t number, const Buffers& mine) {
  const Shown here = at(peer).incoming.at(channel, number);
  const std::uint32_t bytes = here.header->bytes;
  if (here.payload) return {here.payload, bytes};
  if (here.header->own == kDelivered) return {in_output(mine, here.place.bits, bytes), bytes};
  return {mirrored(peer, here.place, bytes), bytes};
}

std::byte* OfiEndpoint::mirrored(int peer, Location where, std::size_t bytes) {
  Peer& from = at(peer);
  const Mirror* const mirror =
      from.reached.find(from.remote->mirrors(), segment_of(where), [this] { return troubled(); });
  if (!mirror) {
    ending_.count_all();
    const std::string lost = from.remote->lost();
    throw PeerLost(rank(static_cast<std::size_t>(peer)) +
                   (lost.empty() ? "it has released the memory that it sent from" : lost));
  }
  const std::uint64_t offset = offset_of(where);
  if (offset > mirror->bytes() || bytes > mirror->bytes() - offset) {
    throw InternalError("a peer named memory outside of its segment");
  }
  return mirror->data() + offset;
}

}  // namespace weft::ofi
