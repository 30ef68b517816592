#include "process_group.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Logging.h>

#include <optional>
#include <utility>

#include "ending.h"
#include "errors.h"
#include "gil.h"
#include "store.h"
#include "strands.h"
#include "symmetric_pool.h"

namespace weft::torch_adapter {

namespace {

// The record of a synchronous call in a profile: the same as a Work's.
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
    : Backend(rank, size),
      options_(std::move(options)),
      store_(std::move(store)),
      group_(std::make_shared<Group>(rank, options_->group_name)),
      pool_(&CompletionPool::instance()) {
  init();
  communicator_ = make_communicator("");
  pool_->enter();
  SymmetricPool::instance().enter();
}

ProcessGroupWeft::~ProcessGroupWeft() { shutdown(); }

void ProcessGroupWeft::shutdown() {
  WithoutGil blocking;
  std::shared_ptr<Communicator> last;
  std::map<std::string, std::shared_ptr<Communicator>> of_strands;
  {
    std::lock_guard lock(mutex_);
    last.swap(communicator_);
    of_strands.swap(of_strands_);
  }
  if (!last) return;
  last.reset();
  of_strands.clear();
  if (pool_ != &CompletionPool::instance()) return;  // a forked child's parent's
  pool_->leave();
  SymmetricPool::instance().leave();
}

void ProcessGroupWeft::abort() {
  std::vector<std::shared_ptr<Communicator>> ended;
  {
    std::lock_guard lock(mutex_);
    if (!communicator_) return;
    ended.push_back(communicator_);
    for (const auto& [strand, communicator] : of_strands_) ended.push_back(communicator);
  }
  SymmetricPool::instance().distrust();
  for (const auto& communicator : ended)
    communicator->abort("rank " + std::to_string(rank_) + " aborted the process group");
}

std::shared_ptr<Communicator> ProcessGroupWeft::make_communicator(const std::string& name) const {
  WithoutGil blocking;
  return translating([&] {
    CommunicatorOptions with;
    with.timeout = options_->timeout;
    with.interrupt = check_signals;
    with.workers.compute_threads = at::get_num_threads();
    auto made = Communicator::create(make_store(store_, rank_, name), rank_, size_, with);
    settle_at_the_end(made);
    return made;
  });
}

std::shared_ptr<Communicator> ProcessGroupWeft::communicator(const Site& site) {
  const auto main = main_communicator(site);
  const std::string& strand = current_strand();
  if (strand.empty()) return main;
  {
    std::lock_guard lock(mutex_);
    if (const auto it = of_strands_.find(strand); it != of_strands_.end()) return it->second;
  }
  auto made = make_communicator(strand);
  main_communicator(site);  // not shut down meanwhile
  std::lock_guard lock(mutex_);
  return of_strands_[strand] = std::move(made);
}

std::shared_ptr<Communicator> ProcessGroupWeft::main_communicator(const Site& site) const {
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
  for (const auto& [strand, communicator] : of_strands_) communicator->set_timeout(timeout);
}

void ProcessGroupWeft::registerOnCompletionHook(Group::Hook&& hook) {
  onCompletionHook_ = hook;  // what hasHooks() looks at
  group_->set_hook(std::move(hook));
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

void ProcessGroupWeft::run_now(const Operation& operation, Job& job, const Tensors& inputs,
                               std::uint64_t sequence) {
  const auto communicator = this->communicator(site(operation));
  const bool timed = group_->timed();
  WithoutGil blocking;
  Record record(operation, inputs);
  const auto from = timed ? Group::Clock::now() : Group::Clock::time_point();
  try {
    for (const Call& call : job.calls()) communicator->run(call);
  } catch (const Error&) {
    group_->failed(std::current_exception());
    throw;
  }
  job.copy_back();
  if (!timed) return;
  group_->started();
  group_->finished(operation.type, sequence, from, Group::Clock::now());
}

ProcessGroupWeft::WorkPtr ProcessGroupWeft::start(const Operation& operation, Job job,
                                                  const Tensors& inputs, const Tensors& outputs,
                                                  std::chrono::milliseconds timeout, bool async) {
  if (timeout > kNoTimeout)  // else the communicator's
    for (Call& call : job.calls()) call.timeout = timeout;
  if (Block* block = own_block())
    return note(*block, operation, std::move(job), inputs, outputs, async);
  const bool counted = !c10d::isP2POp(operation.type);
  const auto sequence = sequence_.fetch_add(counted, std::memory_order_relaxed) + counted;
  if (!async) {
    run_now(operation, job, inputs, sequence);
    return nullptr;
  }
  const Site here = site(operation);
  const auto communicator =
      job.calls().empty() ? main_communicator(here) : this->communicator(here);
  auto work = c10::make_intrusive<WorkWeft>(group_, operation, sequence, inputs, outputs,
                                            std::move(job), communicator);
  for (const Call& call : work->job().calls()) work->add(communicator->submit(call));
  if (!work->job().transfers().empty()) {
    const auto main = main_communicator(here);
    for (const Transfer& t : work->job().transfers())
      work->add(t.sends ? main->isend(t.data, t.count, t.dtype, t.peer, t.tag)
                        : main->irecv(t.data, t.count, t.dtype, t.peer, t.tag));
  }
  work->started();
  return work;
}

}  // namespace weft::torch_adapter
