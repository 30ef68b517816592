// Allreduce of sparse tensors, as the gradients of sparse embeddings are.
#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_coo_tensor.h>

#include <algorithm>
#include <numeric>

#include "arguments.h"
#include "element.h"
#include "errors.h"
#include "gil.h"
#include "process_group.h"

namespace weft::torch_adapter {

namespace {

constexpr std::int64_t kMostDimensions = 16;
constexpr std::int64_t kFacts = 3 + kMostDimensions;  // stored, sparse, dense dimensions; sizes

at::Tensor facts_of(const Site& site, const at::Tensor& mine) {
  if (mine.dim() > kMostDimensions)
    refuse(site, "a sparse tensor has ", mine.dim(), " dimensions; at most ", kMostDimensions,
           " can be reduced");
  at::Tensor facts = at::empty({kFacts}, at::kLong).zero_();
  auto* fact = facts.mutable_data_ptr<std::int64_t>();
  fact[0] = mine._nnz();
  fact[1] = mine.sparse_dim();
  fact[2] = mine.dense_dim();
  std::copy(mine.sizes().begin(), mine.sizes().end(), fact + 3);
  return facts;
}

// Everyone's number of stored elements, if all have tensors of one shape.
std::vector<std::int64_t> stored_by_rank(const Site& site, const at::Tensor& facts, int rank) {
  const auto* all = facts.const_data_ptr<std::int64_t>();
  const auto* own = all + rank * kFacts;
  std::vector<std::int64_t> stored;
  for (std::int64_t peer = 0; peer < facts.size(0) / kFacts; ++peer) {
    const auto* theirs = all + peer * kFacts;
    if (!std::equal(own + 1, own + kFacts, theirs + 1))
      refuse(site,
             "this rank's sparse tensor has other sizes or sparse dimensions than that of "
             "rank ",
             peer, "; give tensors of one shape on all ranks");
    stored.push_back(theirs[0]);
  }
  return stored;
}

}  // namespace

// All ranks' rows of `mine`, in rank order.
at::Tensor ProcessGroupWeft::all_rows(const Site& site, const at::Tensor& mine,
                                      const std::vector<std::int64_t>& rows) {
  const at::Tensor own = mine.contiguous();
  std::vector<std::int64_t> sizes = own.sizes().vec();
  sizes[0] = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  at::Tensor all = at::empty(sizes, own.options());
  const Element element = moved(own.scalar_type());
  const auto row = static_cast<std::size_t>(c10::multiply_integers(own.sizes().slice(1)));
  Job job;
  std::vector<std::size_t> counts;
  for (std::int64_t count : rows)
    counts.push_back(static_cast<std::size_t>(count) * row * element.units);
  Call call{Collective::kAllgather, job.read(own), job.write(site, all),
            static_cast<std::size_t>(own.numel()) * element.units, element.dtype};
  call.output_counts = job.keep_counts(std::move(counts));
  const auto communicator = this->communicator(site);
  WithoutGil blocking;
  communicator->run(call);
  return all;
}

// Everyone gathers all stored elements and adds them up in the same order, so the bits are the
// same everywhere. How much there is only the ranks together know, so it runs on the caller
// whether or not a handle is wanted.
ProcessGroupWeft::WorkPtr ProcessGroupWeft::allreduce_sparse(Tensors& tensors,
                                                             const c10d::AllreduceOptions& opts) {
  return attempt([&]() -> WorkPtr {
    const Site here = site(kAllReduceSparse);
    at::Tensor tensor = only(here, "tensors", tensors);
    if (tensor.layout() != at::kSparse || !tensor.is_cpu())
      refuse(here, "give a sparse COO tensor on the CPU");
    if (own_block())
      refuse(here, "a sparse tensor can be neither coalesced nor estimated; make it dense");
    if (opts.reduceOp != c10d::ReduceOp::SUM)
      refuse(here, "sparse tensors can be summed and nothing else; make them dense");
    at::AutoDispatchBelowADInplaceOrView plain_values;
    const at::Tensor mine = tensor.coalesce();
    const std::vector<std::int64_t> one_each(static_cast<std::size_t>(size_), kFacts);
    const auto stored = stored_by_rank(here, all_rows(here, facts_of(here, mine), one_each), rank_);
    const at::Tensor indices = all_rows(here, mine.indices().t(), stored);
    const at::Tensor values = all_rows(here, mine.values(), stored);
    tensor.copy_(at::sparse_coo_tensor(indices.t(), values, tensor.sizes()).coalesce());
    return start(kAllReduceSparse, Job(), tensors, tensors, opts);
  });
}

}  // namespace weft::torch_adapter
