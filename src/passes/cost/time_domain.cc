#include "passes/cost/time_domain.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plan/verbs.h"
#include "weft/error.h"

namespace weft::cost {

TimeDomain::TimeDomain(const Programs& programs, const Call& call, const Topology& topology,
                       Timeline* timeline)
    : execute::Machine<TimeDomain, Types>(
          programs.shape().ranks,
          std::max<int>(1, static_cast<int>(programs.shape().channels.size())), call.mailbox),
      topology_(topology),
      routes_(topology),
      programs_(programs),
      call_(call),
      rates_(rates_at(topology, call.buffers)),
      timeline_(timeline) {
  for (const Topology::Link& link : topology.links) has_memory_ = has_memory_ || link.memory;
  for (int i = 0; i < programs.count(); ++i) {
    if (is_opaque(programs.program(i)))
      throw Unsupported(programs.shape().algorithm +
                        " is the fabric's own function, of which nothing is known: no price");
    prepared_.emplace_back(programs.program(i), call.cut.input, call.cut.output, call.cut.chunk);
  }
}

void TimeDomain::ready(int rank, double seconds) {
  state(rank).now = seconds;
  ready_.push_back(rank);
}

void TimeDomain::ready_all() {
  for (int rank = 0; rank < programs_.shape().ranks; ++rank) ready(rank, 0);
}

const Price& TimeDomain::finish() {
  for (const Rank& rank : ranks_) {
    if (!rank.through) stuck();
    price_.seconds = std::max(price_.seconds, rank.now);
  }
  return price_;
}

void TimeDomain::stuck() const {
  const auto held = std::ranges::find(ranks_, false, &Rank::through);
  throw InvalidPlan(programs_.shape().algorithm + ": rank " +
                    std::to_string(held - ranks_.begin()) +
                    " waits for ever: `weft verify` says for what");
}

void TimeDomain::enter(int rank) {
  Rank& own = state(rank);
  begin(rank, prepared_[static_cast<std::size_t>(programs_.number(rank))],
        programs_.shape().channels);
  own.now += topology_.call;
  own.filled.fill(-1);
}

void TimeDomain::step(int rank) {
  Rank& own = state(rank);
  const double start = own.now;
  const std::size_t sent = timeline_ ? timeline_->messages.size() : 0;
  own.began = start;
  perform(rank);
  own.now += topology_.step;
  if (timeline_) record(rank, start, sent);
}

bool TimeDomain::leave(int rank) {
  flush(rank);
  end(rank, state(rank).now);
  return false;
}

// What the step at hand waited for came then.
void TimeDomain::wait_until(int rank, double when, std::int32_t depth) {
  Rank& own = state(rank);
  own.began = own.now = std::max(own.now, when);
  own.heard = std::max(own.heard, depth);
}

void TimeDomain::record(int rank, double start, std::size_t sent) {
  const Rank& own = state(rank);
  const Cursor& at = own.cursor;
  Timeline::Step step{.rank = rank,
                      .section = static_cast<int>(at.section()),
                      .step = static_cast<int>(at.at()),
                      .round = at.round(),
                      .chunk = static_cast<int>(at.chunk()),
                      .chunks = static_cast<int>(at.chunks()),
                      .sent = static_cast<int>(sent),
                      .read = {},
                      .start = start,
                      .began = own.began,
                      .end = own.now};
  for (const Operand& source : at.step()->src)
    if (source.buffer == Buffer::kSlot)
      if (const Entry* in = oldest(rank, source)) step.read.push_back(in->record);
  timeline_->steps.push_back(std::move(step));
}

// Sends one chunk, or nothing, to all peers of the step.
void TimeDomain::send(int rank, double bytes, bool lazy, bool placed) {
  Rank& own = state(rank);
  const std::int32_t heard = own.heard;
  const int channel = own.cursor.step()->channel;
  execute::Machine<TimeDomain, Types>::send(rank, lazy, [&](std::size_t i, std::int32_t posted) {
    Stream& stream = this->stream(at_[i]);
    Entry& entry = streams_.entry(posted);
    entry.depth = 1 + std::max({heard, stream.depth, topology_.one_port ? own.last_sent : 0});
    entry.placed = placed;
    entry.time = own.now + stream.route.latency;
    if (timeline_) {
      entry.record = static_cast<std::int32_t>(timeline_->messages.size());
      timeline_->messages.push_back({rank, stream.to, channel, bytes, own.now, entry.time, 0, 0});
    }
    own.last_sent = stream.depth = entry.depth;
    ++price_.messages;
    price_.bytes += bytes;
    price_.depth = std::max(price_.depth, entry.depth);
    if (stream.route.memory) return show(entry);
    carry({rank, stream.to, own.now, bytes, static_cast<std::uint32_t>(posted), at_[i], 0, 0},
          entry.depth);
  });
}

void TimeDomain::arrive(const Flow& flow) {
  Entry& entry = streams_.entry(static_cast<std::int32_t>(flow.entry));
  entry.time = flow.arrival;
  if (timeline_) timeline_->messages[static_cast<std::size_t>(entry.record)].arrived = flow.arrival;
  if (entry.unread) put_is_read(entry, flow.left, entry.depth);
  show(entry);
}

void TimeDomain::put_is_read(Entry& entry, double when, std::int32_t depth) {
  Rank& own = state(streams_[entry.stream].from);
  own.puts_read = std::max(own.puts_read, when);
  own.puts_depth = std::max(own.puts_depth, depth);
  read(entry);
}

}  // namespace weft::cost
