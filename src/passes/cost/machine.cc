#include "passes/cost/machine.h"

#include <algorithm>
#include <string>

#include "weft/error.h"

namespace weft::cost {

Machine::Machine(const Programs& programs, const Call& call, const Topology& topology,
                 Timeline* timeline)
    : topology_(topology),
      routes_(topology),
      programs_(programs),
      call_(call),
      rates_(rates_at(topology, call.buffers)),
      streams_(programs.shape().ranks,
               std::max<int>(1, static_cast<int>(programs.shape().channels.size())), topology,
               routes_),
      timeline_(timeline) {
  const PlanShape& shape = programs.shape();
  for (const Topology::Link& link : topology.links) has_memory_ = has_memory_ || link.memory;
  for (int i = 0; i < programs.count(); ++i)
    prepared_.emplace_back(programs.program(i), call.cut.input, call.cut.output, call.cut.chunk);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    ranks_.push_back({Cursor(prepared_[static_cast<std::size_t>(programs.number(rank))])});
    ranks_.back().now = topology.call;
    for (const Channel& channel : shape.channels)
      ranks_.back().out.emplace_back().slots.resize(static_cast<std::size_t>(channel.slots));
    ready_.push_back(rank);
  }
}

void Machine::run_ready() {
  while (!ready_.empty()) {
    const int rank = ready_.back();
    ready_.pop_back();
    go(rank);
  }
}

const Price& Machine::finish() {
  for (const Rank& rank : ranks_) {
    if (!rank.through) stuck();
    price_.seconds = std::max(price_.seconds, rank.now);
  }
  return price_;
}

void Machine::stuck() const {
  auto held = std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return !r.through; });
  throw InvalidPlan(programs_.shape().algorithm + ": rank " +
                    std::to_string(held - ranks_.begin()) +
                    " waits for ever: `weft verify` says for what");
}

// Until the end of the program, or until a step cannot go.
void Machine::go(int rank) {
  Rank& own = state(rank);
  own.held = Held::kNothing;
  for (; own.cursor.step(); own.cursor.advance()) {
    const double start = own.now;
    own.began = start;
    if (!perform(rank)) return;
    own.now += topology_.step;
    if (timeline_) record(rank, start);
  }
  own.through = drain(rank);
}

void Machine::record(int rank, double start) {
  const Rank& own = state(rank);
  const Cursor& at = own.cursor;
  timeline_->steps.push_back({rank, static_cast<int>(at.section()), static_cast<int>(at.at()),
                              at.round(), static_cast<int>(at.chunk()), start, own.began, own.now});
}

void Machine::wake(int rank, Held held) {
  Rank& own = state(rank);
  if (own.held != held) return;
  own.held = Held::kNothing;
  ready_.push_back(rank);
}

// Sends one chunk, or nothing, to all peers of the step.
void Machine::send(int rank, double bytes, std::int32_t slot, bool lazy, bool placed) {
  Rank& own = state(rank);
  const Step& step = *own.cursor.step();
  const std::int32_t heard = own.heard;
  for (const Index& index : step.peers) {
    const std::int32_t number = streams_.find(rank, peer_of(rank, index), step.channel);
    Stream& stream = streams_[number];
    const int to = stream.to;
    const bool memory = stream.way.memory;
    Entry entry;
    entry.depth = 1 + std::max({heard, stream.depth, topology_.one_port ? own.last_sent : 0});
    entry.bytes = bytes;
    entry.stream = number;
    entry.slot = slot;
    entry.lazy = lazy;
    entry.placed = placed;
    entry.here = memory;
    entry.arrival = own.now + stream.way.latency;
    if (timeline_) {
      entry.record = static_cast<std::int32_t>(timeline_->messages.size());
      timeline_->messages.push_back({rank, to, step.channel, bytes, own.now, entry.arrival, 0, 0});
    }
    own.last_sent = stream.depth = entry.depth;
    own.puts += lazy;
    ++price_.messages;
    price_.bytes += bytes;
    price_.depth = std::max(price_.depth, entry.depth);
    const std::int32_t posted = streams_.post(entry);
    if (!memory)
      carry({rank, to, own.now, bytes, static_cast<std::uint32_t>(posted), 0, 0}, entry.depth);
    else if (state(to).awaited == number)
      wake(to, Held::kMessage);
  }
}

void Machine::arrive(const Flow& flow) {
  Entry& entry = streams_.entry(static_cast<std::int32_t>(flow.entry));
  entry.here = true;
  entry.arrival = flow.arrival;
  if (timeline_) timeline_->messages[static_cast<std::size_t>(entry.record)].arrived = flow.arrival;
  if (entry.lazy) put_is_read(flow.from, flow.left, entry.depth);
  if (state(flow.to).awaited == entry.stream) wake(flow.to, Held::kMessage);
}

void Machine::put_is_read(int rank, double when, std::int32_t depth) {
  Rank& own = state(rank);
  own.puts_done = std::max(own.puts_done, when);
  own.puts_depth = std::max(own.puts_depth, depth);
  if (--own.puts == 0) wake(rank, Held::kPuts);
}

}  // namespace weft::cost
