#include "mutants/team.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include "conformance/fabrics.h"
#include "engine/lane.h"
#include "mutants/mutate.h"
#include "weft/error.h"

namespace weft::mutants {
namespace {

constexpr auto kTimeout = std::chrono::seconds(30);  // machines may be busy

// Whether the plan reads others' memory, which is to be symmetric then.
bool needs_symmetric(const Plan& plan) {
  for (std::size_t rank = 0; rank < plan.programs.size(); ++rank)
    for (const Section& section : plan.programs[rank])
      for (const Step& step : section.steps)
        for (const Operand& from : step.src)
          if (from.buffer != Buffer::kSlot && from.rank != Index(static_cast<int>(rank)))
            return true;
  return false;
}

// All ranks' calls of one plan.
class Calls {
 public:
  explicit Calls(const Plan& plan)
      : plan_(plan), symmetric_(needs_symmetric(plan)), entered_(cases().size()) {
    for (auto& count : entered_) count.store(0);
  }

  // One rank's. Throws what its lane throws, or InternalError for a wrong result.
  void run(Lane& lane, Fabric& fabric, std::byte* symmetric, std::byte* ordinary, int rank) {
    const auto own = std::make_shared<const RankPlan>(
        RankPlan{plan_.shape, plan_.programs[static_cast<std::size_t>(rank)]});
    for (std::size_t i = 0; i < cases().size(); ++i) {
      const Case& call = cases()[i];
      const Side side(plan_.shape, call, rank, symmetric_ || call.symmetric ? symmetric : ordinary);
      side.fill();
      dawdle(rank, i);
      ++entered_[i];
      Binding binding = side.binding();
      binding.plan = own;
      binding.prepare();
      for (std::size_t b = 0; b < 2; ++b)
        if (binding.user[b])
          binding.where[b] =
              fabric.locate(binding.user[b], binding.parts[b].total() * binding.element);
      lane.run([&]() -> Binding& { return binding; }, [&](Binding& copy) { copy = binding; },
               kTimeout);
      check(side, call, rank, i);
    }
  }

 private:
  // Ranks come to a call in any order.
  static void dawdle(int rank, std::size_t call) {
    const auto wait = Dice(call * 64 + static_cast<std::size_t>(rank)).next() % 4;
    if (wait) std::this_thread::sleep_for(std::chrono::microseconds(wait * 60));
  }

  void check(const Side& side, const Case& call, int rank, std::size_t number) const {
    std::string flaw;
    if (plan_.shape.collective != Collective::kBarrier)
      flaw = side.flaw();
    else if (entered_[number] < plan_.shape.ranks)
      flaw = "rank " + std::to_string(rank) + " leaves the barrier before all have entered";
    if (!flaw.empty()) throw InternalError(std::string(call.name) + ": " + flaw);
  }

  const Plan& plan_;
  const bool symmetric_;
  std::vector<std::atomic<int>> entered_;
};

// The first cause among what the ranks threw: of most ranks it is that another ended the call.
Verdict verdict_of(const std::vector<std::exception_ptr>& errors) {
  Verdict verdict;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Aborted& aborted) {
      if (verdict.outcome == Outcome::kRight) verdict = {Outcome::kWrong, aborted.what()};
    } catch (const Timeout& timeout) {
      verdict = {Outcome::kHung, timeout.what()};
    } catch (const std::exception& other) {
      return {Outcome::kWrong, other.what()};
    }
  }
  return verdict;
}

}  // namespace

Team::Team(int ranks) : members_(static_cast<std::size_t>(ranks)) {
  for (Member& member : members_) {
    member.fabric = make_shm_fabric();
    member.engine = Engine::of(member.fabric);
    member.engine->expect_crowd();
    member.symmetric = member.fabric->allocate(kArena);
    member.ordinary.resize(kArena / sizeof(double));
  }
}

Verdict Team::run(const Plan& plan) {
  const int ranks = static_cast<int>(members_.size());
  const auto store = memory_store();
  std::vector<std::exception_ptr> errors(members_.size());
  std::barrier end(ranks);
  Calls calls(plan);
  const auto body = [&](int rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    std::unique_ptr<Lane> lane;
    try {
      auto joined = testing::join_lane(member.fabric, *store, rank, ranks);
      lane = std::make_unique<Lane>(member.engine, std::move(joined.lane), rank, ranks,
                                    std::make_shared<Fate>(), nullptr);
      calls.run(*lane, *member.fabric, member.symmetric.data,
                reinterpret_cast<std::byte*>(member.ordinary.data()), rank);
    } catch (...) {
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
    }
    end.arrive_and_wait();  // nobody leaves while another still looks
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
  return verdict_of(errors);
}

}  // namespace weft::mutants
