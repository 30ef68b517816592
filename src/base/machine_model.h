// The model of the machine: what decides how fast a plan runs on a processor, as data. A shipped
// profile, a rule for processors that nobody measured, or a file of `weft tune --quick`.
// docs/machine-model.md says which, and where the numbers are from. Nothing is timed, and whether
// cores are near or far is in none of them, since hosts move them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/copy_profile.h"
#include "base/processor.h"

namespace weft {

// How long chunks are and where a choice changes, in bytes. Rank 0's hold for all ranks.
struct Lengths {
  // A chunk of ranks that have a core each on one node: a quarter of a block, from the smallest to
  // the largest. Where a chunk is moved and nothing else, or blocks are not known, `moved_chunk`.
  std::size_t smallest_chunk = 16 << 10, largest_chunk = 64 << 10, moved_chunk = 128 << 10;
  // The same of two ranks of a node that load such chunks from symmetric memory; 0: moved_chunk.
  std::size_t loaded_chunk = 0;
  // The same of two ranks of a node that exchange at most exchange_chunk_to bytes in ordinary
  // memory; 0: moved_chunk.
  std::size_t exchange_chunk = 0, exchange_chunk_to = 0;
  // An allreduce of at most so many is added up everywhere.
  std::size_t one_shot = 16 << 10, symmetric_one_shot = 16 << 10;
  // The same of two ranks of a node in ordinary memory, in chunks of allreduce_chunk. Longer ones
  // of at most one_shot have chunks as others.
  std::size_t one_shot_of_two = 0;
  // A chunk of an allreduce of at most allreduce_chunk_to bytes, of two ranks; 0: as of others.
  std::size_t allreduce_chunk = 0, allreduce_chunk_to = 0;
  // How far a broadcast's root is ahead of its readers, at most, where ranks have a core each.
  std::size_t broadcast_ahead = kNever;
  // A broadcast of at least long_broadcast bytes outgrows the caches: unless it is worked on in
  // place, it has chunks of long_broadcast_chunk, a root that is up to long_broadcast_ahead bytes
  // ahead, and is sent as if symmetric memory were ordinary.
  std::size_t long_broadcast = kNever, long_broadcast_chunk = 512 << 10;
  std::size_t long_broadcast_ahead = 2 << 20;
  // In exchanges of at least long_exchange bytes in ordinary memory two ranks of a node are
  // long_ahead bytes ahead of what they take, or as far as a plan allows. Memory holds them up in
  // turns; then they wait less for each other.
  std::size_t long_exchange = kNever, long_ahead = 512 << 10;
  // From here on two ranks work in each other's symmetric buffers, in such chunks.
  std::size_t allreduce_in_place = kNever, allreduce_in_place_chunk = 16 << 10;
  // Of those, allreduces of at least so many bytes have longer ones.
  std::size_t long_in_place = kNever, long_in_place_chunk = 256 << 10;
  std::size_t reduce_in_place = 8 << 20, reduce_in_place_chunk = 1 << 20;
  std::size_t broadcast_in_place = 16 << 20, broadcast_in_place_chunk = 1 << 20;
  // Shorter messages are sent as if symmetric memory were ordinary, unless the plan reaches into
  // it.
  std::size_t symmetric_from = 0;
  // Shorter allgathers and alltoalls of two ranks as well.
  std::size_t moved_from = 0;
  // Longer broadcasts and reductions as well, until they are worked on in place.
  std::size_t loaded_to = kNever;

  bool operator==(const Lengths&) const = default;
};

// How soon a slot is written again, in bytes.
struct Reuse {
  // What a rank's slots span before one is written again: by then its lines have left the cache of
  // its last reader, where they are slow to write. 0: as many as the plan's slots have.
  std::size_t span = 0;
  // More bytes than this all places never have: the rank's share of the third cache, as seen.
  std::size_t most = kNever;
  // Calls with a longer buffer leave it at the plan's slots: their own data push these out of the
  // reader's cache, and more places push out the data.
  std::size_t to = kNever;
  // Messages of at most so many bytes, of ranks that send to each other, go in slots that their
  // readers write next: each writes where it has read. 0: none.
  std::size_t lend_to = 0;
  // What those that came back span until one of them is filled again, in calls whose blocks are at
  // most half as long, if 16 of its messages are at least that long. In others, the one that came
  // back last is filled next.
  std::size_t lent_span = 0;
};

// A number of Reuse or Lengths, as files, `weft info` and words of other ranks name it.
template <class Numbers>
struct NumberField {
  const char* name;
  std::size_t Numbers::* value;
};
std::span<const NumberField<Reuse>> reuse_fields();
std::span<const NumberField<Lengths>> length_fields();

struct MachineModel {
  std::string name;  // "zen5", a file; "intel", "unknown": a rule chose it
  // Each rank's own.
  CopyProfile copies = {};
  Reuse reuse = {};

  Lengths lengths = {};

  std::string left_out = {};  // the user's own file and why it is not used; empty: none is left out
};

// The profile that Weft ships for a processor, else one by the rule for unknown ones.
MachineModel shipped_model(const Processor& processor);
// The one of that name, if there is one.
std::optional<MachineModel> model_named(const std::string& name);
// "emerald rapids, zen3, ...".
std::string model_names();

// The model that this process uses, chosen at the first call: WEFT_MODEL, else the user's own file
// if it is of this processor and version, else what is shipped. Throws InvalidArgument naming
// variable or file, and then chooses anew at the next call. Thread safe.
const MachineModel& machine_model();

}  // namespace weft
