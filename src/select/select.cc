#include "select/select.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "algorithms/registry.h"
#include "weft/builder.h"
#include "weft/error.h"

namespace weft {

namespace {

// Below this a second crossing costs more than reducing everything everywhere.
constexpr std::size_t kOneShotBytes = 16 << 10;
// Above this many ranks one message to each costs more than passing it on.
constexpr int kDirectRanks = 16;
// Long enough that signalling vanishes, short enough that what a trip touches stays in a core's
// own cache.
constexpr std::size_t kSmallestChunk = 16 << 10;
constexpr std::size_t kLargestChunk = 64 << 10;
// Where a chunk is moved and nothing else it may be longer.
constexpr std::size_t kMovedChunk = 128 << 10;
// Where each chunk that is waited for is a change of process.
constexpr std::size_t kCrowdedChunk = 256 << 10;

// Bytes of a chunk for blocks of `block` bytes; 0: not known to all ranks.
std::size_t preferred_chunk(std::size_t block, bool crowded) {
  if (crowded) return kCrowdedChunk;
  if (block == 0) return kMovedChunk;
  // A block of a few chunks overlaps its stages; smaller ones are not worth a signal.
  return std::clamp(block / 4, kSmallestChunk, kLargestChunk);
}

bool reduces(Collective c) {
  return c == Collective::kAllreduce || c == Collective::kReduce || c == Collective::kReduceScatter;
}

// Whether the order in which a call adds up shows in its bits: integers wrap, and the least of
// some numbers is the same in any order.
bool order_shows(const Call& call) {
  const bool rounds = reducible(call.dtype, ReduceOp::kAvg);  // floating and complex types
  return reduces(call.collective) && rounds && call.op != ReduceOp::kMin &&
         call.op != ReduceOp::kMax;
}

std::string_view default_for(const Call& call, int ranks, bool reproducible) {
  const bool few = ranks <= kDirectRanks;
  // To each rank its block, added up there: every other way has partial sums of its own.
  const bool direct = few || (reproducible && order_shows(call));
  std::size_t bytes = call.count * size_of(call.dtype);
  switch (call.collective) {
    case Collective::kAllreduce:
      if (ranks == 1 || (few && bytes <= kOneShotBytes)) return "allreduce/one_shot";
      return direct ? "allreduce/two_shot" : "allreduce/ring";
    case Collective::kBroadcast:
      return few ? "broadcast/one_shot" : "broadcast/knomial";
    case Collective::kReduce:
      return direct ? "reduce/direct" : "reduce/binomial";
    case Collective::kAllgather:
      return few ? "allgather/direct" : "allgather/ring";
    case Collective::kReduceScatter:
      return direct ? "reduce_scatter/direct" : "reduce_scatter/ring";
    case Collective::kAlltoall:
      return few ? "alltoall/direct" : "alltoall/pairwise";
    case Collective::kGather:
      return "gather/direct";
    case Collective::kScatter:
      return "scatter/direct";
    case Collective::kBarrier:
      return "barrier/dissemination";
    case Collective::kSendRecv:
      return "sendrecv/stream";
  }
  throw InternalError("unknown collective");
}

// The part of WEFT_ALGORITHM that speaks of this collective; empty: none does.
std::string override_for(Collective collective, const std::string& setting) {
  std::string own(name_of(collective));
  std::size_t begin = 0;
  while (begin < setting.size()) {
    std::size_t end = std::min(setting.find(',', begin), setting.size());
    std::string entry = setting.substr(begin, end - begin);
    std::size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      // Without a collective it is meant for those that have an algorithm of that name.
      if (has_algorithm(entry, collective)) return entry;
    } else if (entry.substr(0, equals) == own) {
      return entry.substr(equals + 1);
    }
    begin = end + 1;
  }
  return {};
}

// "allreduce/one_shot, allreduce/two_shot or ..."
std::string reproducible_names(Collective collective) {
  std::vector<std::string> names;
  for (const std::string& name : algorithm_names())
    if (Algorithm one = find_algorithm(name);
        one.collective == collective && one.claims.reproducible)
      names.push_back(name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

}  // namespace

Settings Settings::from_environment() {
  Settings settings;
  if (const char* value = std::getenv("WEFT_ALGORITHM")) settings.algorithm = value;
  if (const char* value = std::getenv("WEFT_CHUNK")) {
    char* end = nullptr;
    settings.chunk = std::strtoull(value, &end, 10);
    if (end == value || *end)
      throw InvalidArgument("WEFT_CHUNK is \"" + std::string(value) +
                            "\": give a number of bytes, such as 131072");
  }
  if (const char* value = std::getenv("WEFT_REPRODUCIBLE")) {
    const std::string_view word(value);
    if (!word.empty() && word != "0" && word != "1")
      throw InvalidArgument("WEFT_REPRODUCIBLE is \"" + std::string(word) + "\": give 0 or 1");
    settings.reproducible = word == "1";
  }
  return settings;
}

std::string Settings::to_text() const {
  return std::to_string(chunk) + ";" + (reproducible ? "1;" : "0;") + algorithm;
}

Settings Settings::parse(const std::string& text) {
  std::size_t mark = text.find(';');
  if (mark == std::string::npos || text.size() < mark + 3)
    throw InternalError("settings \"" + text + "\"");
  return {.algorithm = text.substr(mark + 3),
          .chunk = std::strtoull(text.c_str(), nullptr, 10),
          .reproducible = text[mark + 1] == '1'};
}

Choice choose(const Call& call, int ranks, const Settings& settings) {
  std::string name(call.algorithm);
  if (name.empty()) name = override_for(call.collective, settings.algorithm);
  Choice choice;
  bool rooted = call.collective == Collective::kBroadcast ||
                call.collective == Collective::kReduce || call.collective == Collective::kGather ||
                call.collective == Collective::kScatter;
  if (rooted) choice.params["root"] = call.root;
  if (name.empty()) {
    choice.algorithm = default_for(call, ranks, settings.reproducible);
    return choice;
  }
  Algorithm algorithm = find_algorithm(name, call.collective);
  choice.params.insert(algorithm.preset.begin(), algorithm.preset.end());
  std::string refusal = algorithm.refuses ? algorithm.refuses(ranks, choice.params) : "";
  if (!refusal.empty())
    throw Unsupported(algorithm.name + " cannot serve " + std::to_string(ranks) +
                      " ranks: " + refusal);
  if (settings.reproducible && order_shows(call) && !algorithm.claims.reproducible)
    throw Unsupported(algorithm.name +
                      " adds up in an order of its own, but this communicator is "
                      "reproducible: choose none, or " +
                      reproducible_names(call.collective));
  choice.algorithm = algorithm.name;
  return choice;
}

std::size_t chunk_elements(const PlanShape& shape, std::size_t block, std::size_t element,
                           std::size_t accumulator, std::size_t arena, const Settings& settings) {
  std::size_t slots = 0, widest = element;
  for (const Channel& channel : shape.channels) {
    slots += static_cast<std::size_t>(channel.slots);
    if (channel.wide) widest = accumulator;
  }
  std::size_t bytes =
      settings.chunk ? settings.chunk : preferred_chunk(block * widest, settings.crowded);
  if (slots) bytes = std::min(bytes, arena / slots);
  // Whole cache lines, so that the slots of a plan fit into the arena.
  bytes = std::max<std::size_t>(64, bytes / 64 * 64);
  return std::max<std::size_t>(1, bytes / widest);
}

}  // namespace weft
