// From a call to a bound plan: checks the arguments, selects, caches plans, cuts buffers.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "engine/binding.h"
#include "select/chunk.h"
#include "select/selector.h"
#include "weft/call.h"

namespace weft {

// What a plan is made from: all of its identity, and whose program.
struct PlanKey {
  Handle use;  // its chunk is no part of the plan
  int root;    // 0 where the collective has none
  int rank, ranks;
  bool operator==(const PlanKey& other) const {
    const bool same_use = use == other.use || (use->algorithm == other.use->algorithm &&
                                               use->params == other.use->params);
    return same_use && root == other.root && rank == other.rank && ranks == other.ranks;
  }
};

// Plans that were made, the most recently used first, bounded. Thread safe.
class PlanCache {
 public:
  struct Planned {
    std::shared_ptr<const RankPlan> plan;
    bool reaches = true;       // some rank may work in another's buffers
    std::uint32_t digest = 0;  // of the plan's shape
  };
  Planned get(const PlanKey& key);

 private:
  struct Entry {
    PlanKey key;
    Planned planned;
  };
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

// Thread safe.
class Planner {
 public:
  // Throws InvalidArgument for settings that no call could use.
  Planner(int rank, int size, const Settings& settings, std::shared_ptr<Fabric> fabric)
      : rank_(rank),
        size_(size),
        selector_(size, settings),
        transfer_(std::make_shared<const Resolved>(
            resolve({"sendrecv/stream", {}, 0}, Collective::kSendRecv))),
        chunks_{settings.chunk, settings.crowded, settings.nodes() > 1, fabric->rails(),
                settings.lengths},
        fabric_(std::move(fabric)) {}

  // Before the first call: the connected lane that collectives run on, for natives.
  void run_on(const Endpoint& lane) { lane_ = &lane; }

  // Throws InvalidArgument or Unsupported naming the rank and the argument.
  void bind(const Call& call, Binding& binding);
  // What remains to do if `binding` was made for a call that differs in its buffers alone. Does not
  // check them.
  void set_buffers(const Call& call, Binding& binding) const;
  // A transfer between `source` and `destination`, one of which is this rank.
  void bind_transfer(Binding& binding, void* data, std::size_t count, DType dtype, int source,
                     int destination);

  Chosen choose(const Call& call) const;
  // Throws as bind does.
  void check(const Call& call) const;

 private:
  Call as_both_see_it(Call call) const;
  void cut(const Call& call, const PlanShape& shape, std::size_t chunk, Binding& binding) const;
  Natives* natives_for(const Call& call, const RankPlan& plan) const;
  void check_buffers(const Call& call) const;
  [[noreturn]] void refuse(const Call& call, const std::string& what) const;

  const int rank_, size_;
  const Selector selector_;
  const Handle transfer_;   // what point to point runs
  const ChunkRule chunks_;  // where no choice says more
  const std::shared_ptr<Fabric> fabric_;
  const Endpoint* lane_ = nullptr;
  PlanCache plans_;
  std::atomic<std::uint64_t> revisions_{0};
};

}  // namespace weft
