#include "select/selector.h"

#include <algorithm>
#include <limits>

#include "algorithms/registry.h"
#include "weft/collective.h"
#include "weft/error.h"
#include "weft/fit.h"
#include "weft/registry.h"

namespace weft {
namespace {

// Whether the order in which a call adds up shows in its bits: integers wrap, and the least of
// some numbers is the same in any order.
bool order_shows(const Call& call) {
  const bool rounds = reducible(call.dtype, ReduceOp::kAvg);  // floating and complex types
  return traits_of(call.collective).reduces && rounds && call.op != ReduceOp::kMin &&
         call.op != ReduceOp::kMax;
}

// Lanes of other priorities go first at the end of a chunk, and the wire is idle for about a chunk
// when one lane takes it from another. A call by itself is as fast as with 1 MiB; with 256 KiB it
// is 5 to 7% slower on a link of 10 Gbit/s.
constexpr std::size_t kChunkWithPriority = 512 << 10;

// The parameter of algorithms whose sums can cross in the type on the wire.
constexpr const char* kWire = "wire";

// Whether a plan may let the call's sums cross in the type on the wire.
bool narrow_sum(const Call& call) {
  const bool sum =
      call.op == ReduceOp::kSum || call.op == ReduceOp::kAvg || call.op == ReduceOp::kPremulSum;
  const CollectiveTraits& traits = traits_of(call.collective);
  return sum && (call.dtype == DType::kF32 || call.dtype == DType::kBF16) && traits.reduces &&
         !traits.rooted();
}

// Of the whole message. Not set where ranks may see other numbers: an exchange of equal counts may
// be given with counts by one rank and without by another.
std::optional<std::size_t> message_bytes(const Call& call, int ranks) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool counts = !call.input_counts.empty() || !call.output_counts.empty();
  if (!traits.has_known_size(ranks) || (traits.exchanges() && counts)) return {};
  const std::size_t elements =
      std::max(traits.input.elements(call.count, call.input_counts, ranks),
               traits.output.elements(call.count, call.output_counts, ranks));
  return elements * size_of(call.dtype);
}

std::string text_of(Collective collective) { return std::string(name_of(collective)); }

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

// The entries of WEFT_ALGORITHM, which commas separate outside of brackets.
std::vector<std::string> entries_of(const std::string& setting) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (char c : setting) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      entries.emplace_back();
    else
      entries.back() += c;
  }
  std::erase(entries, "");
  return entries;
}

// Whether the entry says for which collective it is: its first "=" is outside of parentheses.
bool says_collective(const std::string& entry) { return entry.find('=') < entry.find('('); }

}  // namespace

Selector::Selector(int ranks, const Settings& settings)
    : ranks_(ranks),
      nodes_(settings.nodes()),
      place_(settings.place),
      chunk_(settings.chunk),
      longest_(settings.has_priority ? kChunkWithPriority
                                     : std::numeric_limits<std::size_t>::max()),
      crowded_(settings.crowded),
      reproducible_(settings.reproducible),
      wire_(settings.wire) {
  if (wire_ && reproducible_)
    throw InvalidArgument(
        "wire=bfloat16 and reproducible: what is rounded for the wire depends on where ranks lie; "
        "leave one of them out");
  read_overrides(settings.algorithm);
  for (std::size_t i = 0; i < settings.tuned.size(); ++i)
    offer(settings.tuned[i], static_cast<int>(i + 1));
  for (const Row& row : builtin_rows(settings.lengths)) offer(row, 0);
}

// An entry for a collective goes before one for all; of several the first.
void Selector::read_overrides(const std::string& setting) {
  const std::vector<std::string> entries = entries_of(setting);
  for (const std::string& entry : entries) {
    if (!says_collective(entry)) continue;
    const std::size_t equals = entry.find('=');
    std::string& own = override_of(parse_collective(entry.substr(0, equals)));
    if (own.empty()) own = entry.substr(equals + 1);
  }
  for (const std::string& entry : entries) {
    if (says_collective(entry)) continue;
    const std::string name = parse_choice(entry).algorithm;
    bool known = false;
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (!has_algorithm(name, collective)) continue;
      known = true;
      if (override_of(collective).empty()) override_of(collective) = entry;
    }
    if (!known) find_algorithm(entry);  // throws, listing what there is
  }
}

Params Selector::fitted(const Resolved& resolved) const {
  Params params = resolved.params;
  if (nodes_ > 1) params.merge(fit_place(*resolved.algorithm, ranks_, params, place_));
  return params;
}

// With `wire` too, if that may be asked for and the algorithm has a parameter for it.
Selector::Use Selector::laid_out(Resolved resolved) const {
  Use use{std::make_shared<const Resolved>(std::move(resolved)), nullptr};
  const Resolved& plain = *use.handle;
  if (!wire_ ||
      !make_rank_plan(*plain.algorithm, 0, ranks_, plain.params).shape.params.contains(kWire))
    return use;
  if (plain.params.contains(kWire)) {
    use.narrowed = use.handle;
    return use;
  }
  Resolved narrowed = plain;
  narrowed.params.emplace(kWire, 1);
  use.narrowed = std::make_shared<const Resolved>(std::move(narrowed));
  return use;
}

void Selector::offer(const Row& row, int number) {
  if (!row.ranks.holds(ranks_) || !row.nodes.holds(nodes_)) return;
  if (row.crowded && !crowded_) return;
  Candidate candidate{row, number, {}};
  if (row.use.algorithm != kAsBuiltIn) {
    Resolved resolved = resolve(row.use, row.collective);
    Params params = fitted(resolved);
    if (!refusal(*resolved.algorithm, ranks_, params).empty()) return;
    // A built-in row for several nodes fits the placements that its algorithm supports.
    if (number == 0 && row.nodes.from > 1 && params == resolved.params) return;
    if (params.contains(kWire))
      throw InvalidArgument("row " + std::to_string(number) + " of the tuning file says wire, " +
                            "which is the communicator's to say: leave it out");
    resolved.params = std::move(params);
    // Rows were found where each rank had a core; else a chunk that is waited for changes
    // processes.
    resolved.chunk = chunk_ ? chunk_ : crowded_ ? 0 : std::min(row.use.chunk, longest_);
    candidate.use = laid_out(std::move(resolved));
  }
  candidates_[static_cast<std::size_t>(row.collective)].push_back(std::move(candidate));
}

Chosen Selector::choose(const Call& call) const {
  if (!call.algorithm.empty()) return named(call, call.algorithm, Rule::kCall);
  const auto index = static_cast<std::size_t>(call.collective);
  if (!overrides_[index].empty()) return named(call, overrides_[index], Rule::kEnvironment);
  const auto bytes = message_bytes(call, ranks_);
  const Crossing crossing = crossing_of(call);
  const bool strict = reproducible_ && order_shows(call);
  int settled = 0;  // the tuned row that leaves it to the built-in table
  for (const Candidate& candidate : candidates_[index]) {
    const Row& row = candidate.row;
    const Use& use = candidate.use;
    if (settled && candidate.number) continue;
    if (bytes ? !row.bytes.holds(*bytes) : !row.bytes.all()) continue;
    if (row.symmetric && *row.symmetric != call.symmetric) continue;
    if (row.no_half && (call.dtype == DType::kF16 || call.dtype == DType::kBF16)) continue;
    if (!use.handle) {
      settled = candidate.number;
      continue;
    }
    if (strict && !use.handle->algorithm->claims.reproducible) continue;
    if (crossing == Crossing::kNarrow && !use.narrowed) continue;
    const bool narrow = crossing != Crossing::kAsItIs && use.narrowed;
    return {narrow ? use.narrowed : use.handle, candidate.number ? Rule::kTable : Rule::kBuiltIn,
            candidate.number ? candidate.number : settled};
  }
  throw InternalError("no algorithm for " + text_of(call.collective));
}

// Throws InvalidArgument, Unsupported.
Selector::Use Selector::read_name(const std::string& text, Collective collective) const {
  Resolved named = resolve(parse_choice(text), collective);
  if (named.params.contains("root"))
    throw InvalidArgument(text + ": the root is the call's: leave it out");
  named.params = fitted(named);
  if (named.chunk == 0) named.chunk = chunk_;
  if (auto why = refusal(*named.algorithm, ranks_, named.params); !why.empty())
    throw Unsupported(named.algorithm->name + " cannot serve " + std::to_string(ranks_) +
                      " ranks: " + why);
  return laid_out(std::move(named));
}

Selector::Use Selector::named_before(std::string_view text, Collective collective) const {
  const std::lock_guard lock(mutex_);
  if (std::uint64_t now = registry_generation(); now != generation_ || named_.size() > kMostNamed) {
    named_.clear();
    generation_ = now;
  }
  std::pair key(collective, std::string(text));
  auto found = named_.find(key);
  if (found == named_.end()) found = named_.emplace(key, read_name(key.second, collective)).first;
  return found->second;
}

Chosen Selector::named(const Call& call, std::string_view text, Rule rule) const {
  const Use use = named_before(text, call.collective);
  const Algorithm& algorithm = *use.handle->algorithm;
  if (reproducible_ && order_shows(call) && !algorithm.claims.reproducible)
    throw Unsupported(algorithm.name +
                      " adds up in an order of its own, but this communicator is "
                      "reproducible: choose none, or " +
                      reproducible_names(call.collective));
  return {for_wire(call, use), rule};
}

Selector::Crossing Selector::crossing_of(const Call& call) const {
  if (!wire_ || nodes_ < 2 || !narrow_sum(call)) return Crossing::kAsItIs;
  return call.dtype == DType::kF32 ? Crossing::kNarrow : Crossing::kNarrowIfItCan;
}

Handle Selector::for_wire(const Call& call, const Use& use) const {
  const Algorithm& algorithm = *use.handle->algorithm;
  const Params& params = use.handle->params;
  if (param_of(params, kWire, 0).number() != 0 && !narrow_sum(call))
    throw Unsupported(algorithm.name + " with wire=1: float32 and bfloat16 sums and averages are " +
                      "rounded for the wire, but this is a " + std::string(name_of(call.op)) +
                      " of " + std::string(name_of(call.dtype)) + ": leave wire out");
  const Crossing crossing = crossing_of(call);
  if (crossing == Crossing::kAsItIs || params.contains(kWire)) return use.handle;
  if (!use.narrowed && crossing == Crossing::kNarrowIfItCan) return use.handle;
  if (!use.narrowed)
    throw Unsupported(algorithm.name +
                      " sends float32 as it is, but this communicator has wire=bfloat16: choose "
                      "none, or " +
                      text_of(call.collective) + "/two_level");
  return use.narrowed;
}

std::string& Selector::override_of(Collective collective) {
  return overrides_[static_cast<std::size_t>(collective)];
}

}  // namespace weft
