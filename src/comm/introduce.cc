#include "comm/introduce.h"

#include <algorithm>
#include <map>

#include "base/cpu.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/version.h"
#include "select/tuning.h"
#include "weft/error.h"

namespace weft {

namespace {

// This rank's settings for choosing. Only rank 0 reads a tuning file: its rows are handed out.
Settings own_settings(int rank, const CommunicatorOptions& options) {
  Settings settings = Settings::of(options.reproducible, options.wire);
  const std::string file = rank == 0 ? tuning_file(options.tuning) : "";
  if (!file.empty()) settings.tuned = read_tuning(file);
  return settings;
}

// What ranks say first: the version and the host in words that every version understands, then one
// that only the same version reads.
std::vector<std::string> exchange_hello(const Exchange& exchange, int rank, const Word& mine) {
  const auto all =
      exchange("hello", join_words({kVersion, host_identity().name, mine.told()}), mine.failed());
  if (mine.failed()) Word::read(mine.told(), rank);
  std::vector<std::string> words;
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    const std::vector<std::string> said = split_words(all[peer]);
    if (said.size() != 3 || said[0] != kVersion)
      throw Mismatch("rank " + std::to_string(rank) + " (on host " + host_identity().name +
                     ") runs Weft " + kVersion + ", rank " + std::to_string(peer) + " (on host " +
                     (said.size() > 1 ? said[1] : "?") + ") Weft " +
                     (said.empty() ? "?" : said[0]) + ": install the same version everywhere");
    words.push_back(said[2]);
  }
  for (std::size_t peer = 0; peer < all.size(); ++peer)
    words[peer] = Word::read(words[peer], static_cast<int>(peer));
  return words;
}

void check_same_wire(const Settings& first, const Settings& theirs, std::size_t peer) {
  if (theirs.wire == first.wire) return;
  throw InvalidArgument((first.wire ? "rank 0 asks for wire=bfloat16 and rank "
                                    : "rank 0 asks for no wire=bfloat16, but rank ") +
                        std::to_string(peer) + (first.wire ? " does not" : " does") +
                        ": say the same on every rank, by the option or WEFT_WIRE");
}

void check_same_priority(const std::string& first, const std::string& theirs, std::size_t peer) {
  if (theirs == first) return;
  throw InvalidArgument("rank 0 gives priority=" + first + " and rank " + std::to_string(peer) +
                        " gives priority=" + theirs + ": give the same on every rank");
}

// Reads the ranks' words into `settings` and `shares`.
Members read(const std::vector<std::string>& all, Settings& settings,
             std::vector<std::string>& shares) {
  Members members;
  std::string priority;
  bool reproducible = false;
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    const std::vector<std::string> words = split_words(all[peer], 5);
    Settings theirs = Settings::parse(words[0]);
    reproducible = reproducible || theirs.reproducible;
    if (peer == 0)
      settings = std::move(theirs);
    else
      check_same_wire(settings, theirs, peer);
    members.addresses.push_back(words[1]);
    shares.push_back(words[2]);
    members.machines.push_back(words[3]);
    if (peer == 0) priority = words[4];
    check_same_priority(priority, words[4], peer);
  }
  settings.reproducible = reproducible;
  settings.crowded = densest(shares).crowded();
  settings.place = members.place();
  return members;
}

std::string fabric_name(const CommunicatorOptions& options) {
  if (!options.fabric_name.empty()) return options.fabric_name;
  return Environment::read().fabric;
}

// Equal on all ranks: a fabric's peers fall into groups that reach each other.
bool reaches_all(const Fabric& fabric, const std::vector<std::string>& addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [&](const std::string& address) { return fabric.obstacle(address).empty(); });
}

// The fabric for members on several hosts, who exchange addresses again. If one rank cannot
// have it, all throw Unsupported.
std::shared_ptr<Fabric> span_hosts(const Exchange& exchange, int rank,
                                   std::vector<std::string>& addresses) {
  std::shared_ptr<Fabric> fabric;
  const Word mine([&] {
    try {
      fabric = process_fabric("shm+ofi");
      return fabric->address();
    } catch (const Error& error) {
      throw Unsupported(std::string("cannot use the network that the ranks, which are on several "
                                    "hosts, need: ") +
                        error.what());
    }
  });
  addresses = exchange_word(exchange, "addresses on the network", rank, mine);
  return fabric;
}

}  // namespace

std::vector<int> Members::place() const {
  std::map<std::string, int> number;
  std::vector<int> place;
  for (const std::string& machine : machines)
    place.push_back(number.emplace(machine, static_cast<int>(number.size())).first->second);
  return place;
}

Introduction introduce(const Exchange& exchange, int rank, const CommunicatorOptions& options) {
  Introduction met;
  met.fabric = options.fabric;
  const std::string name = fabric_name(options);
  const CpuLimits limits = cpu_limits();
  WorkerOptions workers;
  const Word mine([&] {
    workers = read_workers(options.workers, limits);
    if (!met.fabric) met.fabric = process_fabric(name.empty() ? "shm" : name);
    return join_words({own_settings(rank, options).to_text(), met.fabric->address(), cpu_share(),
                       host_identity().key(), std::to_string(options.priority)});
  });
  std::vector<std::string> shares;
  met.members = read(exchange_hello(exchange, rank, mine), met.settings, shares);
  met.worker = plan_worker(workers, limits, share_of(shares, rank));
  std::vector<std::string>& addresses = met.members.addresses;
  if (!options.fabric && name.empty() && !reaches_all(*met.fabric, addresses))
    met.fabric = span_hosts(exchange, rank, addresses);
  return met;
}

}  // namespace weft
