// Send and receive, and the barrier that names who is missing.
#include "process_group.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <string>
#include <utility>

#include "arguments.h"
#include "element.h"
#include "errors.h"
#include "gil.h"

namespace weft::torch_adapter {

namespace {

// Reserved tags: users' messages cannot meet these.
constexpr int kArrivalTag = 0;
constexpr int kReleaseTag = 1;

constexpr Operation kMonitoredBarrier{c10d::OpType::BARRIER, "weft:monitored_barrier"};

// Here and not where it starts: of a batch nothing has been started then.
void check_tag(const Site& site, int tag) {
  if (tag < 0) refuse(site, "the tag is ", tag, "; tags count from 0");
}

// Receives, by the rank that they are from.
using Expected = std::vector<std::pair<int, Request>>;

// Waits for all. Ends the communicator and throws Timeout with the first rank that did not
// come in time, or with all such ranks, in the words that programs look for in Gloo's error.
// No receive is under way afterwards.
void await(Communicator& communicator, const Expected& expected, int me,
           std::chrono::milliseconds timeout, bool name_all) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::vector<std::string> missing;
  for (const auto& [rank, request] : expected) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    try {
      request.wait(std::max(left, std::chrono::milliseconds(1)));
    } catch (const Timeout&) {
      missing.push_back(std::to_string(rank));
      if (!name_all) break;
    }
  }
  if (missing.empty()) return;
  const std::string text = "Rank " + std::to_string(me) + " timed out in monitoredBarrier: Rank" +
                           (missing.size() > 1 ? "s " : " ") + c10::Join(", ", missing) +
                           " failed to pass monitoredBarrier in " +
                           std::to_string(timeout.count()) + " ms";
  communicator.abort(text);
  for (const auto& [rank, request] : expected) {
    try {
      request.wait();
    } catch (const Error&) {  // it was aborted
    }
  }
  throw Timeout(text);
}

// Reports to rank 0 and waits to be released.
void report(Communicator& communicator, int me, std::chrono::milliseconds timeout) {
  std::byte token{};
  try {
    communicator.isend_reserved(&token, 1, DType::kU8, 0, kArrivalTag).wait();
    Expected release{{0, communicator.irecv_reserved(&token, 1, DType::kU8, 0, kReleaseTag)}};
    // Rank 0 may come last and then waits in its turn; it can say more than this rank.
    await(communicator, release, me, 2 * timeout, false);
  } catch (const Error& error) {
    throw Aborted("Rank " + std::to_string(me) +
                  " successfully reached monitoredBarrier, but received errors while waiting for "
                  "send/recv from rank 0: " +
                  error.what());
  }
}

}  // namespace

ProcessGroupWeft::WorkPtr ProcessGroupWeft::send(Tensors& tensors, int destination, int tag) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kSend);
    const at::Tensor& tensor = only(here, "tensors", tensors);
    check_tag(here, tag);
    const Element element = moved(common_type(here, {{"tensor", tensors}}));
    Job job;
    void* data = const_cast<void*>(job.read(tensor));
    job.add(Transfer{true, data, element.count(tensor.numel()), element.dtype, destination, tag});
    return start(kSend, std::move(job), tensors, tensors, kNoTimeout, true);
  });
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::recv(Tensors& tensors, int source, int tag) {
  return receive(kRecv, tensors, source, tag);
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::recvAnysource(Tensors& tensors, int tag) {
  return receive(kRecvAnySource, tensors, kAnySource, tag);
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::receive(const Operation& operation, Tensors& tensors,
                                                    int source, int tag) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(operation);
    const at::Tensor& tensor = only(here, "tensors", tensors);
    check_tag(here, tag);
    const Element element = moved(common_type(here, {{"tensor", tensors}}));
    Job job;
    void* data = job.write(here, tensor);
    job.add(Transfer{false, data, element.count(tensor.numel()), element.dtype, source, tag});
    return start(operation, std::move(job), tensors, tensors, kNoTimeout, true);
  });
}

// Everyone reports to rank 0, which releases them when it has heard from all.
void ProcessGroupWeft::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  WithoutGil blocking;
  translating([&] {
    const auto communicator = this->main_communicator(site(kMonitoredBarrier));
    // 0 means at once, as in Gloo.
    const auto timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout : opts.timeout;
    if (rank_ != 0) return report(*communicator, rank_, timeout);
    std::vector<std::byte> tokens(static_cast<std::size_t>(size_));
    auto token_of = [&](int rank) { return &tokens[static_cast<std::size_t>(rank)]; };
    Expected arrivals;
    for (int rank = 1; rank < size_; ++rank)
      arrivals.emplace_back(
          rank, communicator->irecv_reserved(token_of(rank), 1, DType::kU8, rank, kArrivalTag));
    await(*communicator, arrivals, rank_, timeout, wait_all_ranks);
    for (int rank = 1; rank < size_; ++rank)
      communicator->isend_reserved(token_of(rank), 1, DType::kU8, rank, kReleaseTag).wait();
  });
}

}  // namespace weft::torch_adapter
