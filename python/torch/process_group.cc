#include "process_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "store.h"
#include "symmetric_pool.h"

namespace weft::torch_adapter {

namespace {

// What a synchronous call leaves in a profile: the same record as a Work's.
class Record {
 public:
  Record(const Operation& operation, const std::vector<at::Tensor>& inputs) {
    if (!profiling()) return;
    record_.emplace(at::RecordScope::USER_SCOPE);
    if (!record_->isActive()) return;
    record_->_setAsync();
    values_.assign(inputs.begin(), inputs.end());
    record_->before(operation.title,
                    c10::ArrayRef<const c10::IValue>(values_.data(), values_.size()));
  }

 private:
  std::vector<c10::IValue> values_;
  std::optional<at::RecordFunction> record_;
};

}  // namespace

ProcessGroupWeft::ProcessGroupWeft(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : Backend(rank, size), options_(std::move(options)), pool_(&CompletionPool::instance()) {
  init();
  WithoutGil blocking;
  translating([&] {
    CommunicatorOptions with;
    with.timeout = options_->timeout;
    with.interrupt = check_signals;
    communicator_ = Communicator::create(make_store(std::move(store), rank), rank, size, with);
  });
  pool_->enter();
  SymmetricPool::instance().enter();
}

ProcessGroupWeft::~ProcessGroupWeft() { shutdown(); }

void ProcessGroupWeft::shutdown() {
  WithoutGil blocking;
  std::shared_ptr<Communicator> last;
  {
    std::lock_guard lock(mutex_);
    last.swap(communicator_);
  }
  if (!last) return;
  last.reset();
  if (pool_ != &CompletionPool::instance()) return;  // a forked child's parent's
  pool_->leave();
  SymmetricPool::instance().leave();
}

void ProcessGroupWeft::abort() {
  std::shared_ptr<Communicator> ended;
  {
    std::lock_guard lock(mutex_);
    ended = communicator_;
  }
  if (!ended) return;
  SymmetricPool::instance().distrust();
  ended->abort("rank " + std::to_string(rank_) + " aborted the process group");
}

std::shared_ptr<Communicator> ProcessGroupWeft::communicator(const Site& site) const {
  std::lock_guard lock(mutex_);
  if (!communicator_)
    C10_THROW_ERROR(DistBackendError, "rank " + std::to_string(rank_) + ": " +
                                          site.operation.name() +
                                          ": this process group was shut down");
  return communicator_;
}

void ProcessGroupWeft::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  std::lock_guard lock(mutex_);
  if (communicator_) communicator_->set_timeout(timeout);
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupWeft::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<Options>& options) {
  const auto me = std::find(ranks.begin(), ranks.end(), rank_);
  if (me == ranks.end()) return nullptr;
  return c10::make_intrusive<ProcessGroupWeft>(store, static_cast<int>(me - ranks.begin()),
                                               static_cast<int>(ranks.size()),
                                               options ? options : options_);
}

c10::intrusive_ptr<c10d::Backend> ProcessGroupWeft::merge(
    const c10::intrusive_ptr<c10d::Store>& store, const c10::intrusive_ptr<Options>& options,
    const int& rank, const int& size) {
  return c10::make_intrusive<ProcessGroupWeft>(store, rank, size, options ? options : options_);
}

at::Tensor ProcessGroupWeft::allocateTensor(long size, at::TensorOptions options) {
  constexpr Operation kAllocate{c10d::OpType::UNKNOWN, "weft:allocate_tensor"};
  const Site here = site(kAllocate);
  if (size < 0 || !options.device().is_cpu() || options.layout() != at::kStrided)
    refuse(here, "give a size of at least 0 and options of a dense CPU tensor");
  const auto bytes = static_cast<std::size_t>(size) * options.dtype().itemsize();
  const auto fabric = communicator(here)->fabric();
  SymmetricPool::Memory memory;
  try {
    memory = translating([&] { return SymmetricPool::instance().take(*fabric, bytes); });
  } catch (const c10::NotImplementedError& error) {
    LOG(WARNING) << "weft: rank " << rank_ << ": ordinary memory for a tensor of " << size
                 << " elements, which collectives copy once more: "
                 << error.what_without_backtrace();
    return at::empty({size}, options);
  }
  return at::for_blob(memory.get(), {size})
      .context(new SymmetricPool::Memory(memory),
               [](void* held) { delete static_cast<SymmetricPool::Memory*>(held); })
      .options(options)
      .allocator(c10::GetCPUAllocator())
      .resizeable_storage()
      .make_tensor();
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::start(const Operation& operation, Job job,
                                                  const Tensors& inputs, const Tensors& outputs,
                                                  std::chrono::milliseconds timeout, bool async) {
  const auto communicator = this->communicator(site(operation));
  const auto sequence = sequence_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (timeout > kNoTimeout)  // else the communicator's
    for (Call& call : job.calls()) call.timeout = timeout;
  if (!async) {
    WithoutGil blocking;
    Record record(operation, inputs);
    for (const Call& call : job.calls()) communicator->run(call);
    job.copy_back();
    return nullptr;
  }
  auto work = c10::make_intrusive<WorkWeft>(rank_, operation, sequence, inputs, outputs,
                                            std::move(job), communicator);
  for (const Call& call : work->job().calls()) work->add(communicator->submit(call));
  work->started();
  return work;
}

}  // namespace weft::torch_adapter
