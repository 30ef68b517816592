// How a lane ends before its time.
#include <algorithm>
#include <new>

#include "base/duration_text.h"
#include "engine/lane.h"
#include "weft/error.h"

namespace weft {

void Fate::end(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (ended()) return;
  why_ = why;
  ended_.store(true, std::memory_order_release);
  for (Endpoint* endpoint : endpoints_) endpoint->abort(why);
}

void Fate::add(Endpoint* endpoint) {
  std::lock_guard lock(mutex_);
  endpoints_.push_back(endpoint);
}

void Fate::remove(Endpoint* endpoint) {
  std::lock_guard lock(mutex_);
  std::erase(endpoints_, endpoint);
}

std::string Fate::why() const {
  std::lock_guard lock(mutex_);
  return why_;
}

bool Fate::ended(const Endpoint& endpoint) {
  if (endpoint.troubled() && !ended()) [[unlikely]] {
    const std::string why = endpoint.why_aborted();
    if (!why.empty()) end(why);
  }
  return ended();
}

void Fate::refuse() const { throw Aborted("this communicator has ended: " + why()); }

namespace {

std::string rank(int peer) { return "rank " + std::to_string(peer); }

// A peer that waits as well fails at about the same time, and may wait for the cause: it says so
// first.
constexpr std::chrono::milliseconds kFirstSay(250);

// Whether the peer has come as far as this collective, as far as its endpoint tells.
std::string progress(std::optional<std::uint64_t> entered, std::uint64_t sequence) {
  if (!entered) return ", which does not answer";
  if (*entered < sequence)
    return ", which has not entered it (its last is #" + std::to_string(*entered) + ")";
  return ", which has entered it";
}

}  // namespace

std::string reason(const std::exception_ptr& error, int me) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.what();
  } catch (const std::bad_alloc&) {
    return rank(me) + " is out of memory";
  } catch (...) {  // all else was thrown by the caller's own hook
    return rank(me) + " was interrupted while it waited";
  }
}

void stop_peer_writes(Endpoint& endpoint, Fabric& fabric,
                      const std::vector<const Binding*>& bindings) {
  const auto isolate = [&](const Binding* binding) {
    const std::size_t bytes = binding->part(Buffer::kOutput).total() * binding->element;
    return !binding->user[1] || bytes == 0 || fabric.isolate(binding->user[1], bytes);
  };
  while (endpoint.end(Outcome::kFailed) != Endpoint::kNobody) {
    if (std::ranges::all_of(bindings, isolate)) return;
  }
}

void examine(Run& run, Endpoint& endpoint, int me, int members, std::uint64_t sequence,
             Clock::time_point deadline, std::chrono::milliseconds timeout) {
  auto here = [&] {
    return rank(me) + " waits in collective #" + std::to_string(sequence) + " at " + run.where();
  };
  // Messages that a peer sent before it left or failed still count. Go on as far as they lead, then
  // look what the run waits for now.
  std::string why = endpoint.why_aborted();
  // First the abort: a rank that fails leaves afterwards, and its cause is the one to report.
  if (!why.empty()) {
    if (run.advance()) return;
    throw Aborted(why);
  }
  run.compare_arrivals();
  for (int peer = 0; peer < members; ++peer) {
    if (peer == me) continue;
    std::string lost = endpoint.lost(peer);
    if (lost.empty()) continue;
    if (run.advance()) return;
    if (run.waits_for() == peer)
      throw PeerLost(rank(peer) + " is lost: " + lost + "; " + here() + " for it");
  }
  if (Clock::now() < deadline) return;
  // This rank may have stood still itself, and all that it waited for may be here.
  if (run.advance()) return;
  int peer = run.waits_for();
  if (peer == Endpoint::kNobody)
    throw Timeout("the timeout of " + duration_text(timeout) + " is over: " + here() +
                  " for the fabric's own function");
  const std::optional<std::uint64_t> entered = endpoint.last_begun(peer);
  if (entered >= sequence && Clock::now() < deadline + kFirstSay) return;
  throw Timeout("the timeout of " + duration_text(timeout) + " is over: " + here() + " for " +
                rank(peer) + ", " + endpoint.about(peer).process + progress(entered, sequence));
}

}  // namespace weft
