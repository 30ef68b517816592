#include "fabric/shmem/natives.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "fabric/mail/endpoint.h"
#include "fabric/shmem/pipe.h"
#include "fabric/ticket.h"
#include "kernels/copy.h"
#include "plan/partition.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

ShmemNativeLane& lane_of(const Endpoint& lane) {
  auto* const native = static_cast<const mail::MailEndpoint&>(lane).native();
  return const_cast<ShmemNativeLane&>(static_cast<const ShmemNativeLane&>(*native));
}

// The common place, equal on all PEs.
//
//   sync of the function | sync of the barrier | source | target | work of a reduction
struct Common {
  static constexpr std::size_t kPiece = std::size_t{2} << 20;  // of source and of target

  explicit Common(const Process& process) : begin(process.common) {}
  long* sync() const { return reinterpret_cast<long*>(begin); }
  long* barrier_sync() const { return sync() + kSyncElements; }
  std::byte* source() const { return begin + 2 * kSyncElements * sizeof(long); }
  std::byte* target() const { return source() + kPiece; }
  std::byte* work() const { return target() + kPiece; }

  std::byte* const begin;
};
// The largest element has 16 bytes.
static_assert(2 * kSyncElements * sizeof(long) + 2 * Common::kPiece +
                  std::max(Common::kPiece / 2 + 16, kSyncElements * 16) <=
              kCommon);

// OpenSHMEM moves elements of 4 bytes.
std::size_t words(std::size_t bytes) { return (bytes + 3) / 4; }

// One function under way. All of it runs in the test() that finds all members there.
class ShmemRun final : public NativeRun {
 public:
  using Turns = std::shared_ptr<std::deque<const NativeRun*>>;

  ShmemRun(const Process& process, std::shared_ptr<mail::Site> site, Turns turns,
           const NativeCall& call)
      : process_(process),
        site_(std::move(site)),
        turns_(std::move(turns)),
        common_(process),
        call_(call),
        lane_(lane_of(call.lane)),
        dtype_(static_cast<DType>(call.signature.dtype)),
        collective_(static_cast<Collective>(call.signature.collective)) {
    keep_blocks();
    const std::lock_guard lock(site_->mutex);
    turns_->push_back(this);
    ++site_->natives_under_way;
  }
  ~ShmemRun() override {
    const std::lock_guard lock(site_->mutex);
    std::erase(*turns_, this);
    --site_->natives_under_way;
  }

  bool test() override {
    check_members();
    const std::lock_guard lock(site_->mutex);
    if (turns_->front() != this) return false;
    if (number_ == 0) number_ = lane_.come();
    process_.shmem.progress();
    if (!lane_.all_have_come(number_)) return false;
    run();
    scale_output(call_);
    return true;
  }

 private:
  // Nobody enters the function for which a member has come that then gave up.
  void check_members() {
    (void)call_.lane.end(Outcome::kDone);  // reads what the members say
    if (!call_.lane.troubled()) return;
    const std::string why = call_.lane.why_aborted();
    throw Aborted(why.empty() ? "a member has closed the communicator" : why);
  }
  void keep_blocks();
  void run();
  void reduce();
  void broadcast();
  void gather();
  void exchange();
  // Into the common source; into the output. `at`: bytes from their beginning.
  void give(std::size_t at, const std::byte* from, std::size_t bytes) const {
    kernels::copy(common_.source() + at, from, bytes, {kernels::To::kSlot, call_.input.size()});
  }
  void take(std::size_t at, const std::byte* from, std::size_t bytes) const {
    kernels::copy(call_.output.data() + at, from, bytes, {kernels::To::kOwn, call_.output.size()});
  }
  template <typename F, typename... Args>
  void over_members(const F& function, Args... args) {
    const ActiveSet& set = *lane_.set();
    function(args..., set.start, set.log_stride, set.size, common_.sync());
  }
  // Returns when all have come here: nobody uses the common place any more.
  void leave() {
    const ActiveSet& set = *lane_.set();
    process_.shmem.call().barrier(set.start, set.log_stride, set.size, common_.barrier_sync());
  }

  const Process& process_;
  const std::shared_ptr<mail::Site> site_;
  const Turns turns_;
  const Common common_;
  const NativeCall call_;
  ShmemNativeLane& lane_;
  const DType dtype_;
  const Collective collective_;
  std::uint64_t number_ = 0;
  std::vector<std::size_t> sizes_, places_;  // in bytes, of the output's blocks of an allgather
};

void ShmemRun::keep_blocks() {
  const std::size_t unit = size_of(dtype_);
  for (int rank = 0; collective_ == Collective::kAllgather && rank < call_.ranks; ++rank) {
    sizes_.push_back(call_.output_blocks.size(rank, 1) * unit);
    places_.push_back(call_.output_blocks.offset(rank) * unit);
  }
  if (collective_ != Collective::kAlltoall) return;
  for (int rank = 0; rank < call_.ranks; ++rank)
    if (call_.input_blocks.size(rank, 1) != call_.input_blocks.size(0, 1) ||
        call_.output_blocks.size(rank, 1) != call_.input_blocks.size(0, 1))
      throw Unsupported("rank " + std::to_string(call_.rank) +
                        ": OpenSHMEM's alltoall has blocks of one size only: choose another "
                        "algorithm, or none");
}

void ShmemRun::run() {
  switch (collective_) {
    case Collective::kAllreduce:
      return reduce();
    case Collective::kBroadcast:
      return broadcast();
    case Collective::kAllgather:
      return gather();
    case Collective::kAlltoall:
      return exchange();
    default:
      return leave();
  }
}

void ShmemRun::reduce() {
  const Reduction function =
      process_.shmem.reduction(dtype_, without_scale(static_cast<ReduceOp>(call_.signature.op)));
  const ActiveSet& set = *lane_.set();
  for (std::size_t at = 0; at < call_.input.size(); at += Common::kPiece) {
    const std::size_t bytes = std::min(Common::kPiece, call_.input.size() - at);
    give(0, call_.input.data() + at, bytes);
    function(common_.target(), common_.source(), static_cast<int>(bytes / size_of(dtype_)),
             set.start, set.log_stride, set.size, common_.work(), common_.sync());
    take(at, common_.target(), bytes);
    leave();
  }
}

void ShmemRun::broadcast() {
  const bool sends = call_.rank == call_.signature.root;
  if (sends) take(0, call_.input.data(), call_.input.size());
  for (std::size_t at = 0; at < call_.output.size(); at += Common::kPiece) {
    const std::size_t bytes = std::min(Common::kPiece, call_.output.size() - at);
    if (sends) give(0, call_.input.data() + at, bytes);
    over_members(process_.shmem.call().broadcast32, common_.target(), common_.source(),
                 words(bytes), int{call_.signature.root});
    if (!sends) take(at, common_.target(), bytes);
    leave();
  }
}

void ShmemRun::gather() {
  const std::size_t piece = Common::kPiece / static_cast<std::size_t>(call_.ranks) / 4 * 4;
  const std::size_t longest = *std::ranges::max_element(sizes_);
  for (std::size_t at = 0; at < longest; at += piece) {
    const auto part = [&](std::size_t rank) {
      return sizes_[rank] > at ? std::min(piece, sizes_[rank] - at) : 0;
    };
    const auto me = static_cast<std::size_t>(call_.rank);
    if (part(me) > 0) give(0, call_.input.data() + at, part(me));
    over_members(process_.shmem.call().collect32, common_.target(), common_.source(),
                 words(part(me)));
    const std::byte* from = common_.target();
    for (std::size_t rank = 0; rank < sizes_.size(); from += 4 * words(part(rank)), ++rank)
      if (part(rank) > 0) take(places_[rank] + at, from, part(rank));
    leave();
  }
}

void ShmemRun::exchange() {
  const auto ranks = static_cast<std::size_t>(call_.ranks);
  const std::size_t block = call_.input.size() / ranks;
  const std::size_t piece = Common::kPiece / ranks / 4 * 4;
  for (std::size_t at = 0; at < block; at += piece) {
    const std::size_t bytes = std::min(piece, block - at), stride = 4 * words(bytes);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      give(rank * stride, call_.input.data() + rank * block + at, bytes);
    over_members(process_.shmem.call().alltoall32, common_.target(), common_.source(),
                 words(bytes));
    for (std::size_t rank = 0; rank < ranks; ++rank)
      take(rank * block + at, common_.target() + rank * stride, bytes);
    leave();
  }
}

}  // namespace

void ShmemNativeLane::agree(const std::vector<std::string>& tickets) {
  numbers_ = parse_tickets(tickets, std::vector<bool>(tickets.size(), true));
  me_ = static_cast<std::size_t>(std::ranges::find(pes_, process_.shmem.pe()) - pes_.begin());
}

std::uint64_t* ShmemNativeLane::count(std::size_t lane_of, std::size_t member) const {
  auto* const pipes = reinterpret_cast<Pipes*>(process_.heap.at(numbers_[lane_of], 0));
  return reinterpret_cast<std::uint64_t*>(&pipes[member].come);
}

std::uint64_t ShmemNativeLane::come() {
  for (std::size_t i = 0; i < pes_.size(); ++i)
    if (i != me_) process_.shmem.add(count(i, me_), 1, pes_[i]);
  return ++calls_;
}

bool ShmemNativeLane::all_have_come(std::uint64_t number) const {
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    const std::atomic_ref count(*this->count(me_, i));
    if (i != me_ && count.load(std::memory_order_acquire) < number) return false;
  }
  return true;
}

std::string ShmemNatives::obstacle(const Endpoint& lane, Collective collective, DType dtype,
                                   ReduceOp op) const {
  if (!lane_of(lane).set())
    return "its collectives are for PEs in rising order, a power of two apart";
  if (!process_.shmem.sync_value())
    return "nobody can tell what the work arrays of this OpenSHMEM start with";
  switch (collective) {
    case Collective::kAllreduce:
      if (process_.shmem.reduction(dtype, without_scale(op))) return {};
      return "OpenSHMEM has no " + std::string(name_of(op)) + " of " + std::string(name_of(dtype));
    case Collective::kBroadcast:
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kBarrier:
      return {};
    default:
      return "OpenSHMEM has no such collective";
  }
}

std::unique_ptr<NativeRun> ShmemNatives::begin(const NativeCall& call) {
  return std::make_unique<ShmemRun>(process_, site_, turns_, call);
}

}  // namespace weft::shmem
