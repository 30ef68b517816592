#include "weft/builder.h"
#include "weft/collective.h"

#include <limits>
#include <utility>

#include "plan/check.h"
#include "plan/fold.h"
#include "weft/error.h"

namespace weft {
namespace {

// "allreduce/ring, rank 2: " before every complaint.
[[noreturn]] void refuse(const PlanShape& shape, int rank, const std::string& why) {
  throw InvalidPlan(shape.algorithm + ", rank " + std::to_string(rank) + ": " + why);
}

// The extent of signal, wait and credit.
Range range_of(const Operand& of, const Builder& builder) {
  if (of.buffer == Buffer::kSlot)
    refuse(builder.shape(), builder.rank(),
           "a slot as what a message goes with: name the input or output whose chunks it carries");
  if (of.range.blocks < 1)
    refuse(builder.shape(), builder.rank(), "a message that goes with no block: name at least one");
  return of.range;
}

// A channel as the step keeps it. A negative or huge one is left for the check to refuse.
std::uint8_t narrow(int channel) {
  constexpr int kMost = std::numeric_limits<std::uint8_t>::max();
  return static_cast<std::uint8_t>(channel < 0 || channel > kMost ? kMost : channel);
}

Operand ranged(Buffer buffer, int rank, int block, int blocks) {
  Operand operand;
  operand.buffer = buffer;
  operand.rank = rank;
  operand.range = {buffer, block, blocks};
  return operand;
}

Operand in_slot(int rank, int channel) {
  Operand operand;
  operand.buffer = Buffer::kSlot;
  operand.rank = rank;
  operand.channel = narrow(channel);
  return operand;
}

Step message(Verb verb, const std::vector<int>& peers, int channel, Range extent) {
  Step step;
  step.verb = verb;
  step.channel = narrow(channel);
  step.extent = extent;
  step.peers.assign(peers.begin(), peers.end());
  return step;
}

}  // namespace

Builder::Builder(int rank, PlanShape shape) : rank_(rank), shape_(std::move(shape)) {
  if (shape_.ranks < 1) refuse(shape_, rank, "a plan needs at least one rank");
  if (rank < 0 || rank >= shape_.ranks)
    refuse(shape_, rank, "ranks are 0 .. " + std::to_string(shape_.ranks - 1));
  shape_.channels.clear();  // declared again for each rank
  Blocks fixed = fixed_blocks(shape_.collective, shape_.ranks);
  shape_.input_blocks = fixed.input < 0 ? 1 : fixed.input;
  shape_.output_blocks = fixed.output < 0 ? 1 : fixed.output;
}

const Param& Builder::param(const std::string& name, const Param& fallback) {
  asked_.insert(name);
  shape_.params.try_emplace(name, fallback);
  return param_of(shape_.params, name, fallback);
}

std::vector<std::string> Builder::unasked() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : shape_.params)
    if (!asked_.contains(name)) names.push_back(name);
  return names;
}

void Builder::blocks(int input, int output) {
  if (open_ || !program_.empty())
    refuse(shape_, rank_, "blocks() after a section: call it before the first one");
  if (input < 1 || output < 1) refuse(shape_, rank_, "blocks() needs at least one block each");
  Blocks fixed = fixed_blocks(shape_.collective, shape_.ranks);
  if (fixed.input >= 0 && (fixed.input != input || fixed.output != output))
    refuse(shape_, rank_,
           std::string(name_of(shape_.collective)) + " fixes its blocks to " +
               std::to_string(fixed.input) + " and " + std::to_string(fixed.output) +
               ": leave blocks() out");
  shape_.input_blocks = input;
  shape_.output_blocks = output;
}

void Builder::in_place() {
  if (!traits_of(shape_.collective).exchanges())
    refuse(shape_, rank_, "in_place() is for alltoall to say: leave it out");
  shape_.in_place = true;
}

int Builder::channel(int slots, Width width) {
  if (slots < 1) refuse(shape_, rank_, "channel() needs at least one slot");
  if (shape_.channels.size() == static_cast<std::size_t>(kMaxChannels))
    refuse(shape_, rank_,
           "more than " + std::to_string(kMaxChannels) + " channels: use one for several phases");
  shape_.channels.push_back({slots, width});
  return static_cast<int>(shape_.channels.size()) - 1;
}

Operand Builder::input(int block, int blocks) const { return input_of(rank_, block, blocks); }

Operand Builder::output(int block, int blocks) const { return output_of(rank_, block, blocks); }

Operand Builder::input_of(int rank, int block, int blocks) const {
  return ranged(Buffer::kInput, rank, block, blocks);
}

Operand Builder::output_of(int rank, int block, int blocks) const {
  return ranged(Buffer::kOutput, rank, block, blocks);
}

Operand Builder::slot(int channel) const { return in_slot(rank_, channel); }

Operand Builder::slot(int peer, int channel) const {
  if (peer == rank_)
    refuse(shape_, rank_, "slot(peer, channel) of this rank itself: no rank sends to itself");
  return in_slot(peer, channel);
}

void Builder::chunks(const std::function<void()>& write) { section(true, write); }

void Builder::once(const std::function<void()>& write) { section(false, write); }

void Builder::section(bool chunked, const std::function<void()>& write) {
  begin(chunked);
  try {
    write();
  } catch (...) {
    abandon();
    throw;
  }
  end();
}

void Builder::begin(bool chunked) {
  if (open_) refuse(shape_, rank_, "a section in a section: write them one after the other");
  program_.push_back({1, chunked, {}});
  open_ = true;
  lag_ = 0;
}

void Builder::end() {
  if (!open_) refuse(shape_, rank_, "end() without begin()");
  open_ = false;
  if (program_.back().steps.empty()) program_.pop_back();
}

void Builder::abandon() {
  if (!open_) refuse(shape_, rank_, "abandon() without begin()");
  open_ = false;
  program_.pop_back();
}

void Builder::lag(int trips) {
  constexpr int kMost = std::numeric_limits<std::uint8_t>::max();
  if (!open_ || !program_.back().chunked)
    refuse(shape_, rank_, "lag() outside of chunks(): only chunks can lag");
  if (trips < 0 || trips > kMost)
    refuse(shape_, rank_,
           "lag(" + std::to_string(trips) + "): give 0 .. " + std::to_string(kMost) + " trips");
  lag_ = trips;
}

void Builder::add(Step step) {
  if (!open_)
    refuse(shape_, rank_,
           std::string(name_of(step.verb)) +
               "() outside of a section: write it in chunks() or once()");
  const Section& section = program_.back();
  step.lag = static_cast<std::uint8_t>(lag_);
  auto fault = fault_of(step, {rank_, shape_, section.chunked});
  if (!fault.empty()) refuse(shape_, rank_, "`" + to_text(step) + "` " + fault);
  program_.back().steps.push_back(std::move(step));
}

void Builder::copy(std::vector<Operand> dst, Operand src) {
  Step step;
  step.verb = Verb::kCopy;
  step.dst = std::move(dst);
  step.src = {std::move(src)};
  step.extent = range_of(step);
  add(std::move(step));
}

void Builder::copy(std::vector<Operand> dst, Operand src, Operand of) {
  Step step;
  step.verb = Verb::kCopy;
  step.dst = std::move(dst);
  step.src = {std::move(src)};
  step.extent = range_of(of, *this);
  add(std::move(step));
}

void Builder::reduce(std::vector<Operand> dst, std::vector<Operand> src, Partial partial,
                     Order order) {
  Step step;
  step.verb = Verb::kReduce;
  step.last = partial == kLast;
  step.tree = order == kTree;
  step.dst = std::move(dst);
  step.src = std::move(src);
  step.extent = range_of(step);
  add(std::move(step));
}

void Builder::put(Operand src, std::vector<int> to, int channel) {
  Step step = message(Verb::kPut, to, channel, no_range());
  step.src = {std::move(src)};
  step.extent = range_of(step);
  add(std::move(step));
}

void Builder::put(std::vector<Operand> dst, Operand src, std::vector<int> to, int channel) {
  Step step = message(Verb::kPut, to, channel, no_range());
  step.dst = std::move(dst);
  step.src = {std::move(src)};
  step.extent = range_of(step);
  add(std::move(step));
}

void Builder::signal(std::vector<int> to, int channel, Operand of) {
  add(message(Verb::kSignal, to, channel, range_of(of, *this)));
}

void Builder::wait(int from, int channel, Operand of) {
  add(message(Verb::kWait, {from}, channel, range_of(of, *this)));
}

void Builder::credit(int from, int channel, Operand of) {
  add(message(Verb::kCredit, {from}, channel, range_of(of, *this)));
}

void Builder::flush() { add(message(Verb::kFlush, {}, 0, no_range())); }

void Builder::native() { add(message(Verb::kNative, {}, 0, no_range())); }

void Builder::signal(std::vector<int> to, int channel) {
  add(message(Verb::kSignal, to, channel, no_range()));
}

void Builder::wait(int from, int channel) {
  add(message(Verb::kWait, {from}, channel, no_range()));
}

void Builder::credit(int from, int channel) {
  add(message(Verb::kCredit, {from}, channel, no_range()));
}

Program Builder::finish() {
  if (open_) refuse(shape_, rank_, "finish() inside a section: call it after them");
  return fold(program_);
}

}  // namespace weft
