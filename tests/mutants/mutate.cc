#include "mutants/mutate.h"

#include <algorithm>
#include <utility>

namespace weft::mutants {

std::uint64_t Dice::next() {
  std::uint64_t bits = state_ += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

namespace {

using Change = std::function<void(Plan&, Dice&)>;

template <typename T>
T& one_of(std::vector<T>& all, Dice& dice) {
  return all[static_cast<std::size_t>(dice.below(static_cast<int>(all.size())))];
}

// A step, and where it stands.
struct Spot {
  Plan& plan;
  int rank;
  Section& section;
  std::size_t at;
  Step& step() const { return section.steps[at]; }
};

// Changes a step for which `fits` holds, if there is one.
template <typename Fits>
Change at_step(Fits fits, std::function<void(const Spot&, Dice&)> change) {
  return [=](Plan& plan, Dice& dice) {
    std::vector<Spot> spots;
    for (std::size_t rank = 0; rank < plan.programs.size(); ++rank)
      for (Section& section : plan.programs[rank])
        for (std::size_t at = 0; at < section.steps.size(); ++at)
          if (fits(section.steps[at])) spots.push_back({plan, static_cast<int>(rank), section, at});
    if (!spots.empty()) change(one_of(spots, dice), dice);
  };
}

Change at_section(std::function<void(Program&, std::size_t, Dice&)> change) {
  return [=](Plan& plan, Dice& dice) {
    Program& program = one_of(plan.programs, dice);
    if (program.empty()) return;
    change(program, static_cast<std::size_t>(dice.below(static_cast<int>(program.size()))), dice);
  };
}

bool any(const Step&) { return true; }
bool talks(const Step& step) { return !step.peers.empty(); }
bool reads(const Step& step) { return !step.src.empty(); }
bool writes(const Step& step) { return !step.dst.empty(); }
bool reduces(const Step& step) { return step.verb == Verb::kReduce; }
auto is(Verb verb) {
  return [=](const Step& step) { return step.verb == verb; };
}

// A number of 0 .. n-1 other than `now`, where there is another.
int other(int now, int n, Dice& dice) {
  if (n < 2) return now;
  const int drawn = dice.below(n - 1);
  return drawn + (drawn >= now ? 1 : 0);
}

int blocks_of(const PlanShape& shape, Buffer buffer) {
  return buffer == Buffer::kInput ? shape.input_blocks : shape.output_blocks;
}

// Moves a range to other blocks; one time in four also to another number of them, or to the other
// buffer.
void change_range(Range& range, const PlanShape& shape, Dice& dice) {
  const int how = dice.below(8);
  if (how == 0) range.buffer = range.buffer == Buffer::kInput ? Buffer::kOutput : Buffer::kInput;
  const int blocks = blocks_of(shape, range.buffer);
  if (how == 1 && blocks > 1) range.blocks = 1 + other(range.blocks - 1, blocks, dice);
  if (how == 0 && blocks >= range.blocks && range.block.base + range.blocks <= blocks) return;
  range.block.base = other(range.block.base, std::max(1, blocks - range.blocks + 1), dice);
}

void change_index(Index& index, int n, Dice& dice) { index.base = other(index.base, n, dice); }

Change extent_of(Verb verb) {
  return at_step(is(verb), [](const Spot& spot, Dice& dice) {
    if (spot.step().extent.blocks > 0) change_range(spot.step().extent, spot.plan.shape, dice);
  });
}

// A step, and all others of its rank and section that go with the same range.
Change extents_of_a_rank() {
  return at_step(talks, [](const Spot& spot, Dice& dice) {
    const Range before = spot.step().extent;
    if (before.blocks == 0) return;
    Range after = before;
    change_range(after, spot.plan.shape, dice);
    for (Step& step : spot.section.steps)
      if (step.extent == before) step.extent = after;
  });
}

// What a rank waits for, reads and returns of one peer.
Change extents_of_a_stream() {
  return at_step(is(Verb::kWait), [](const Spot& spot, Dice& dice) {
    const Step wait = spot.step();
    if (wait.extent.blocks == 0) return;
    Range after = wait.extent;
    change_range(after, spot.plan.shape, dice);
    for (Step& step : spot.section.steps)
      if (step.peers == wait.peers && step.channel == wait.channel && step.extent == wait.extent)
        step.extent = after;
  });
}

// All ranges of a step that are alike, with its extent.
Change blocks_of_a_step() {
  return at_step(any, [](const Spot& spot, Dice& dice) {
    Step& step = spot.step();
    if (step.extent.blocks == 0) return;
    const Range before = step.extent;
    change_range(step.extent, spot.plan.shape, dice);
    for (auto* operands : {&step.dst, &step.src})
      for (Operand& operand : *operands)
        if (operand.buffer != Buffer::kSlot && operand.range == before) operand.range = step.extent;
  });
}

// One operand among sources or destinations.
Change operand(bool source, std::function<void(Operand&, const Spot&, Dice&)> change) {
  return at_step(source ? reads : writes, [=](const Spot& spot, Dice& dice) {
    change(one_of(source ? spot.step().src : spot.step().dst, dice), spot, dice);
  });
}

void move_operand(Operand& operand, const Spot& spot, Dice& dice) {
  if (operand.buffer != Buffer::kSlot)
    change_range(operand.range, spot.plan.shape, dice);
  else
    change_index(operand.rank, spot.plan.shape.ranks, dice);
}

void change_buffer(Operand& operand, const Spot& spot, Dice& dice) {
  const Buffer to = static_cast<Buffer>(other(static_cast<int>(operand.buffer), 3, dice));
  operand.range = to == Buffer::kSlot ? Range{} : spot.step().extent;
  operand.range.buffer = to == Buffer::kSlot ? Buffer::kInput : to;
  operand.buffer = to;
}

void change_owner(Operand& operand, const Spot& spot, Dice& dice) {
  change_index(operand.rank, spot.plan.shape.ranks, dice);
}

void change_slot(Operand& operand, const Spot& spot, Dice& dice) {
  const int channels = static_cast<int>(spot.plan.shape.channels.size());
  if (operand.buffer == Buffer::kSlot && channels > 0)
    operand.channel = static_cast<std::uint8_t>(other(operand.channel, channels, dice));
}

Change channel_of_a_step() {
  return at_step(talks, [](const Spot& spot, Dice& dice) {
    const int channels = static_cast<int>(spot.plan.shape.channels.size());
    spot.step().channel = static_cast<std::uint8_t>(other(spot.step().channel, channels, dice));
  });
}

Change verb_of_a_step() {
  return at_step(any, [](const Spot& spot, Dice& dice) {
    spot.step().verb = static_cast<Verb>(other(static_cast<int>(spot.step().verb), kVerbs, dice));
  });
}

template <typename T>
void erase_one(std::vector<T>& all, Dice& dice) {
  all.erase(all.begin() + dice.below(static_cast<int>(all.size())));
}

void move_step(const Spot& spot, Dice& dice) {
  std::vector<Step>& steps = spot.section.steps;
  const Step step = spot.step();
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(spot.at));
  steps.insert(steps.begin() + dice.below(static_cast<int>(steps.size()) + 1), step);
}

void swap_steps(const Spot& spot, Dice&) {
  if (spot.at + 1 < spot.section.steps.size())
    std::swap(spot.section.steps[spot.at], spot.section.steps[spot.at + 1]);
}

// The step alone, or all from it on to the end of the section.
Change lag(bool all) {
  return at_step(any, [=](const Spot& spot, Dice& dice) {
    const int by = dice.below(2) ? 1 : -1;
    for (std::size_t at = spot.at; at < (all ? spot.section.steps.size() : spot.at + 1); ++at) {
      Step& step = spot.section.steps[at];
      step.lag = static_cast<std::uint8_t>(std::max(0, step.lag + by));
    }
  });
}

Change advance_of_an_index() {
  return at_step(any, [](const Spot& spot, Dice& dice) {
    std::vector<Index*> moving;
    Step& step = spot.step();
    const auto keep = [&](Index& index) {
      if (!index.constant()) moving.push_back(&index);
    };
    keep(step.extent.block);
    for (auto* operands : {&step.dst, &step.src})
      for (Operand& operand : *operands) keep(operand.rank), keep(operand.range.block);
    for (Index& peer : step.peers) keep(peer);
    if (moving.empty()) return;
    Index& index = *one_of(moving, dice);
    switch (dice.below(3)) {
      case 0:
        index.first = other(index.first, index.modulus, dice);
        break;
      case 1:
        index.stride += dice.below(2) ? 1 : -1;
        break;
      default:
        index.modulus += dice.below(2) ? 1 : -1;
    }
  });
}

Change channels(std::function<void(Channel&, Dice&)> change) {
  return [=](Plan& plan, Dice& dice) {
    if (!plan.shape.channels.empty()) change(one_of(plan.shape.channels, dice), dice);
  };
}

std::vector<Kind> make_kinds() {
  return {
      {"extent of a copy", extent_of(Verb::kCopy)},
      {"extent of a reduce", extent_of(Verb::kReduce)},
      {"extent of a put", extent_of(Verb::kPut)},
      {"extent of a signal", extent_of(Verb::kSignal)},
      {"extent of a wait", extent_of(Verb::kWait)},
      {"extent of a credit", extent_of(Verb::kCredit)},
      {"extents of a stream", extents_of_a_stream()},
      {"extents of a rank", extents_of_a_rank()},
      {"blocks of a step", blocks_of_a_step()},
      {"place of a source", operand(true, move_operand)},
      {"place of a destination", operand(false, move_operand)},
      {"buffer of a source", operand(true, change_buffer)},
      {"buffer of a destination", operand(false, change_buffer)},
      {"rank of a source", operand(true, change_owner)},
      {"rank of a destination", operand(false, change_owner)},
      {"channel of a source", operand(true, change_slot)},
      {"channel of a destination", operand(false, change_slot)},
      {"source left out",
       at_step(reads, [](const Spot& s, Dice& dice) { erase_one(s.step().src, dice); })},
      {"source twice", at_step(reads,
                               [](const Spot& s, Dice& dice) {
                                 const Operand copy = one_of(s.step().src, dice);
                                 s.step().src.push_back(copy);
                               })},
      {"sources swapped", at_step(reduces,
                                  [](const Spot& s, Dice& dice) {
                                    std::swap(one_of(s.step().src, dice), s.step().src.front());
                                  })},
      {"destination left out",
       at_step(writes, [](const Spot& s, Dice& dice) { erase_one(s.step().dst, dice); })},
      {"peer", at_step(talks,
                       [](const Spot& s, Dice& dice) {
                         change_index(one_of(s.step().peers, dice), s.plan.shape.ranks, dice);
                       })},
      {"peer left out",
       at_step(talks, [](const Spot& s, Dice& dice) { erase_one(s.step().peers, dice); })},
      {"peer added", at_step(talks,
                             [](const Spot& s, Dice& dice) {
                               s.step().peers.push_back(dice.below(s.plan.shape.ranks));
                             })},
      {"channel of a step", channel_of_a_step()},
      {"verb", verb_of_a_step()},
      {"step left out", at_step(any,
                                [](const Spot& s, Dice&) {
                                  s.section.steps.erase(s.section.steps.begin() +
                                                        static_cast<std::ptrdiff_t>(s.at));
                                })},
      {"step twice", at_step(any,
                             [](const Spot& s, Dice&) {
                               const Step copy = s.step();
                               s.section.steps.insert(
                                   s.section.steps.begin() + static_cast<std::ptrdiff_t>(s.at),
                                   copy);
                             })},
      {"step moved", at_step(any, move_step)},
      {"steps swapped", at_step(any, swap_steps)},
      {"lag of a step", lag(false)},
      {"lag from a step on", lag(true)},
      {"tree or not", at_step(reduces, [](const Spot& s, Dice&) { s.step().tree ^= true; })},
      {"last or not", at_step(reduces, [](const Spot& s, Dice&) { s.step().last ^= true; })},
      {"advance of an index", advance_of_an_index()},
      {"rounds", at_section([](Program& program, std::size_t at, Dice& dice) {
         program[at].rounds += dice.below(2) ? 1 : -1;
       })},
      {"chunked or not",
       at_section([](Program& program, std::size_t at, Dice&) { program[at].chunked ^= true; })},
      {"sections swapped", at_section([](Program& program, std::size_t at, Dice&) {
         if (at + 1 < program.size()) std::swap(program[at], program[at + 1]);
       })},
      {"section left out", at_section([](Program& program, std::size_t at, Dice&) {
         program.erase(program.begin() + static_cast<std::ptrdiff_t>(at));
       })},
      {"section twice", at_section([](Program& program, std::size_t at, Dice&) {
         const Section copy = program[at];
         program.insert(program.begin() + static_cast<std::ptrdiff_t>(at), copy);
       })},
      {"programs swapped",
       [](Plan& plan, Dice& dice) {
         std::swap(one_of(plan.programs, dice), one_of(plan.programs, dice));
       }},
      {"slots", channels([](Channel& channel, Dice& dice) {
         channel.slots = other(channel.slots - 1, channel.slots + 1, dice) + 1;
       })},
      {"width", channels([](Channel& channel, Dice& dice) {
         channel.width = static_cast<Width>(other(static_cast<int>(channel.width), 3, dice));
       })},
      {"equal counts or not", [](Plan& plan, Dice&) { plan.shape.equal_counts ^= true; }},
      {"in place or not", [](Plan& plan, Dice&) { plan.shape.in_place ^= true; }},
      {"root",
       [](Plan& plan, Dice& dice) {
         const auto root = plan.shape.params.find("root");
         if (root == plan.shape.params.end()) return;
         root->second = other(root->second.number(), plan.shape.ranks, dice);
       }},
  };
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kinds = make_kinds();
  return kinds;
}

}  // namespace weft::mutants
