#include "fabric/mpi/natives.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "fabric/mail/endpoint.h"
#include "fabric/mpi/library.h"
#include "kernels/copy.h"
#include "plan/partition.h"
#include "weft/collective.h"
#include "weft/error.h"

namespace weft::mpi {
namespace {

const std::shared_ptr<NativeComm>& comm_of(const Endpoint& lane) {
  const auto* const native = static_cast<const mail::MailEndpoint&>(lane).native();
  return static_cast<const MpiNativeLane&>(*native).comm();
}

// Blocks as MPI counts them. MPI may read both until the function has ended.
struct Blocks {
  Blocks() = default;
  Blocks(const Partition& blocks, int ranks, std::size_t unit) {
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(to_int(blocks.size(rank, 1) * unit));
      places.push_back(to_int(blocks.offset(rank) * unit));
    }
  }
  bool even() const { return std::ranges::count(counts, counts.front()) == std::ssize(counts); }
  Parts parts() const { return {counts, places}; }

  std::vector<int> counts, places;
};

// Some libraries refuse null, or equal addresses, even for no elements.
std::array<std::byte, 2> nothing;

// One function under way.
class MpiRun final : public NativeRun {
 public:
  MpiRun(const Mpi& mpi, std::shared_ptr<mail::Site> site, std::shared_ptr<NativeComm> comm,
         const NativeCall& call)
      : mpi_(mpi),
        site_(std::move(site)),
        comm_(std::move(comm)),
        call_(call),
        dtype_(static_cast<DType>(call.signature.dtype)),
        collective_(static_cast<Collective>(call.signature.collective)),
        type_(mpi.type_of(dtype_)),
        unit_(type_ ? 1 : size_of(dtype_)) {
    const CollectiveTraits& traits = traits_of(collective_);
    in_ = cut(traits.input, call.input_blocks);
    out_ = cut(traits.output, call.output_blocks);
    std::lock_guard lock(site_->mutex);
    request_ = begin();
    ++comm_->begun;
    ++site_->natives_under_way;
  }

  ~MpiRun() override { --site_->natives_under_way; }

  bool test() override {
    check_usable();
    {
      std::lock_guard lock(site_->mutex);
      if (!mpi_.test(request_)) return false;
      ++comm_->ended;
    }
    scale_output(call_);
    return true;
  }

 private:
  void check_usable() const {
    if (!mpi_.finalized()) return;
    throw Unsupported("mpi: MPI was finalised while a collective of its own was under way");
  }

  Blocks cut(const SideTraits& side, const Partition& blocks) const {
    if (!side.by_rank() || !holds(side.holder, call_.rank, root())) return {};
    return {blocks, call_.ranks, unit_};
  }
  int root() const { return call_.signature.root; }
  const void* in() const { return call_.input.empty() ? &nothing[0] : call_.input.data(); }
  void* out() const { return call_.output.empty() ? &nothing[1] : call_.output.data(); }
  std::size_t elements(std::size_t bytes) const { return bytes / size_of(dtype_) * unit_; }
  std::size_t sent() const { return elements(call_.input.size()); }
  std::size_t received() const { return elements(call_.output.size()); }

  Request begin();
  Request reduce(Op op);
  Request move();

  const Mpi& mpi_;
  const std::shared_ptr<mail::Site> site_;
  const std::shared_ptr<NativeComm> comm_;
  const NativeCall call_;
  const DType dtype_;
  const Collective collective_;
  const Datatype type_;     // null: MPI has none
  const std::size_t unit_;  // of MPI's elements in one of ours
  Blocks in_, out_;
  Request request_;
};

Request MpiRun::begin() {
  if (collective_ == Collective::kBarrier) return mpi_.ibarrier(comm_->comm);
  if (!traits_of(collective_).reduces) return move();
  return reduce(mpi_.op_of(without_scale(static_cast<ReduceOp>(call_.signature.op))));
}

Request MpiRun::reduce(Op op) {
  const Comm comm = comm_->comm;
  switch (collective_) {
    case Collective::kAllreduce:
      return mpi_.iallreduce(in(), out(), sent(), type_, op, comm);
    case Collective::kReduce:
      return mpi_.ireduce(in(), out(), sent(), type_, op, root(), comm);
    default:
      if (in_.even()) return mpi_.ireduce_scatter_block(in(), out(), received(), type_, op, comm);
      return mpi_.ireduce_scatter(in(), out(), in_.counts, type_, op, comm);
  }
}

Request MpiRun::move() {
  const Comm comm = comm_->comm;
  const Datatype type = type_ ? type_ : mpi_.bytes();
  switch (collective_) {
    case Collective::kBroadcast:
      kernels::copy(out(), in(), call_.input.size(),
                    kernels::To::kOwn);  // none but the root has an input
      return mpi_.ibcast(out(), received(), type, root(), comm);
    case Collective::kAllgather:
      if (out_.even()) return mpi_.iallgather(in(), out(), sent(), type, comm);
      return mpi_.iallgatherv(in(), sent(), out(), out_.parts(), type, comm);
    case Collective::kGather:
      return mpi_.igatherv(in(), sent(), out(), out_.parts(), type, root(), comm);
    case Collective::kScatter:
      return mpi_.iscatterv(in(), in_.parts(), out(), received(), type, root(), comm);
    default:
      return mpi_.ialltoallv(in(), in_.parts(), out(), out_.parts(), type, comm);
  }
}

}  // namespace

std::string MpiNatives::obstacle(const Endpoint& lane, Collective collective, DType dtype,
                                 ReduceOp op) const {
  if (!comm_of(lane))
    return "one of the ranks has " + std::to_string(NativeComms::kMost) +
           " communicators of MPI for such functions, which is the most that Weft makes";
  const CollectiveTraits& traits = traits_of(collective);
  if (traits.is_pair()) return "MPI has send and receive instead";
  if (!traits.reduces) return {};
  if (!mpi_.type_of(dtype)) return "MPI does not reduce " + std::string(name_of(dtype));
  if (!mpi_.op_of(without_scale(op))) return "MPI has no " + std::string(name_of(op));
  return {};
}

std::unique_ptr<NativeRun> MpiNatives::begin(const NativeCall& call) {
  return std::make_unique<MpiRun>(mpi_, site_, comm_of(call.lane), call);
}

}  // namespace weft::mpi
