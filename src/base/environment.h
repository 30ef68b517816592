// The environment variables of Weft, all in one table: no other file reads a WEFT_ variable.
// `weft info` prints the table with what is set, docs/environment.md is made from it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace weft {

// What the variables say. Empty: not set. Who needs one parses it and says what is wrong with it.
struct Environment {
  std::string algorithm;
  std::string chunk;
  std::string fabric;
  std::string interface;
  std::string isa;
  std::string libfabric;
  std::string model;
  std::string node;
  std::string ofi_provider;
  std::string rendezvous;
  std::string reproducible;
  std::string secret;
  std::string tuning;
  std::string wire;
  std::string worker_cores;
  std::string worker_nice;
  std::string workers;

  // As it is now. A communicator, a fabric and the choice of kernels read it once, when made.
  static Environment read();
};

struct Variable {
  const char* name;
  std::string Environment::* value;
  const char* kind;      // what may be written
  const char* fallback;  // what holds where it is not set
  const char* meaning;
  const char* scope;  // on which ranks it counts
};

// By name.
std::span<const Variable> variables();

// One sentence for each variable WEFT_... of this process that neither Weft nor its tests and
// scripts know, with the name that is meant if one is near.
std::vector<std::string> unknown_variables();

// The user's own file of that name, $XDG_CONFIG_HOME/weft/NAME, else ~/.config/weft/NAME, whether
// or not it is there; empty if there is no home.
std::filesystem::path user_file(const std::string& name);

}  // namespace weft
