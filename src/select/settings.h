// The settings for choosing, from the environment and the options of a communicator. Ranks exchange
// them when they meet, and then use the same ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/machine_model.h"
#include "select/row.h"

namespace weft {

struct Settings {
  // WEFT_ALGORITHM: "ring" for every collective that has one, or
  // "allreduce=multi_leader(node=4),broadcast=chain".
  std::string algorithm = {};
  // WEFT_CHUNK: bytes of a chunk, at most; 0: chosen by size.
  std::size_t chunk = 0;
  // WEFT_REPRODUCIBLE=1, or the communicator's option, on any rank: sums whose bits depend on
  // nothing but the inputs and the number of ranks.
  bool reproducible = false;
  // WEFT_WIRE=bfloat16, or the communicator's option, on every rank: float32 sums cross nodes in
  // bf16.
  bool wire = false;
  // Of the model of the machine.
  Lengths lengths = {};
  // Of the tuning file, in its order.
  std::vector<Row> tuned = {};

  // What follows is not of the environment, nor in the text.

  // Ranks outnumber the cores that they have together.
  bool crowded = false;
  // The communicator has a priority other than 0: there are others, and lanes give way to each
  // other at the end of a chunk.
  bool has_priority = false;
  // The node, that is the machine, of each rank. Empty: all are on one.
  std::vector<int> place = {};

  int nodes() const;  // how many there are

  // The environment's, with what the options `reproducible` and `wire` ask for; without `tuned`.
  // Throws InvalidArgument naming variable or option.
  static Settings of(bool reproducible, const std::string& wire);
  // For the other ranks, and back: what the text cannot say is as in Settings{}.
  std::string to_text() const;
  static Settings parse(const std::string& text);
};

// The tuning file to read: `option`, else WEFT_TUNING, else the user's own,
// $XDG_CONFIG_HOME/weft/tuning.json, if it is there and was measured on this machine. "none", for
// either, is no file. Empty: none. Throws InvalidArgument if the user's own file cannot be read.
std::string tuning_file(const std::string& option);

}  // namespace weft
