#include "window.h"

#ifdef C10D_BACKEND_HAS_WINDOW

#include <atomic>
#include <utility>

#include "completion_pool.h"
#include "element.h"
#include "gil.h"
#include "job.h"
#include "registration.h"
#include "window_work.h"

namespace weft::torch_adapter {

namespace {

constexpr Operation kRegister{c10d::OpType::UNKNOWN, "weft:tensor_register"};
constexpr Operation kDeregister{c10d::OpType::UNKNOWN, "weft:tensor_deregister"};
constexpr Operation kPut{c10d::OpType::UNKNOWN, "weft:put"};
constexpr Operation kSignal{c10d::OpType::UNKNOWN, "weft:signal"};
constexpr Operation kWaitSignal{c10d::OpType::UNKNOWN, "weft:wait_signal"};
constexpr Operation kMap{c10d::OpType::UNKNOWN, "weft:map_remote_tensor"};
constexpr Operation kAttributes{c10d::OpType::UNKNOWN, "weft:get_attr"};

// What a put reads from, until the window has done with it.
struct Source {
  explicit Source(const at::Tensor& tensor) : tensor(tensor), data(job.read(tensor)) {}

  const at::Tensor tensor;
  Job job;
  const void* const data;
  std::atomic<bool> free{false};
};

void start_put(weft::Window& window, const std::shared_ptr<Source>& source, int target,
               std::int64_t offset) {
  CompletionPool::instance().prepare();
  // Tensors may have Python objects, so the completion pool lets them go.
  auto* const held = new std::shared_ptr<Source>(source);
  const auto when_free = [held] {
    (*held)->free.store(true, std::memory_order_release);
    CompletionPool::instance().post(
        {[](void* subject) { delete static_cast<std::shared_ptr<Source>*>(subject); }, held});
  };
  try {
    window.put(source->data, source->tensor.nbytes(), target,
               static_cast<std::size_t>(offset) * source->tensor.element_size(), {}, when_free);
  } catch (...) {
    delete held;
    throw;
  }
}

void check_put(const Site& site, const at::Tensor& tensor, std::int64_t target, std::int64_t offset,
               const Shape& there) {
  const at::ScalarType type = common_type(site, {{"tensor", tensor}});
  if (type != there.type)
    refuse(site, "the tensor has type ", type, " but that of rank ", target, " has ", there.type,
           "; convert it first");
  if (offset < 0 || offset > there.elements || tensor.numel() > there.elements - offset)
    refuse(site, tensor.numel(), " elements at offset ", offset,
           " do not lie in the tensor of rank ", target, ", which has ", there.elements,
           " elements");
}

}  // namespace

c10::intrusive_ptr<c10d::Window> ProcessGroupWeft::new_window(
    const std::optional<at::Tensor>& tensor) {
  auto window =
      c10::make_intrusive<WindowWeft>(c10::intrusive_ptr<ProcessGroupWeft>::reclaim_copy(this));
  if (tensor) window->tensor_register(*tensor, true);
  return window;
}

std::chrono::milliseconds WindowWeft::limit(std::chrono::milliseconds asked) const {
  return asked > kNoTimeout ? asked : group_->options_->timeout;
}

std::shared_ptr<Registration> WindowWeft::registered(const Site& site) {
  std::lock_guard lock(mutex_);
  if (!registration_)
    refuse(site, "no tensor is registered with this window; call tensor_register() on all ranks");
  return registration_;
}

void WindowWeft::tensor_register(const at::Tensor& tensor, bool owning) {
  WithoutGil blocking;
  const Site here = site(kRegister);
  std::lock_guard lock(mutex_);
  if (registration_)
    refuse(here, "this window has a tensor; call tensor_deregister() first, or make another one");
  translating(
      [&] { registration_ = register_tensor(*group_->communicator(here), here, tensor, owning); });
}

void WindowWeft::tensor_deregister() {
  WithoutGil blocking;
  const Site here = site(kDeregister);
  const auto gone = registered(here);
  translating([&] { gone->end_together(limit(kNoTimeout)); });
  std::lock_guard lock(mutex_);
  registration_.reset();
}

WindowWeft::WorkPtr WindowWeft::put(const at::Tensor& tensor, std::int64_t target,
                                    std::int64_t offset, bool async, const c10d::PutOptions& opts) {
  WithoutGil blocking;
  const Site here = site(kPut);
  const auto open = registered(here);
  check_put(here, tensor, target, offset, open->shape(here, target));
  const auto source = std::make_shared<Source>(tensor);
  translating([&] { start_put(*open->window, source, static_cast<int>(target), offset); });
  auto work = c10::make_intrusive<WindowWork>(
      group_->group_, kPut,
      WindowWork::End{[open, source] {
                        if (!source->free.load(std::memory_order_acquire)) return false;
                        open->window->check();  // a put that failed is free, too
                        return true;
                      },
                      [open](std::chrono::milliseconds time) { open->window->quiet(time); }},
      limit(opts.timeout));
  if (!async) work->wait(kNoTimeout);
  return work;
}

WindowWeft::WorkPtr WindowWeft::signal(std::int64_t peer, bool, const c10d::SignalOptions& opts) {
  WithoutGil blocking;
  const Site here = site(kSignal);
  const auto open = registered(here);
  open->shape(here, peer);
  translating(
      [&] { open->window->signal(static_cast<int>(peer), {here.rank, 1, SignalOp::kAdd}); });
  return c10::make_intrusive<WindowWork>(
      group_->group_, kSignal,
      WindowWork::End{[] { return true; }, [](std::chrono::milliseconds) {}}, limit(opts.timeout));
}

WindowWeft::WorkPtr WindowWeft::wait_signal(std::int64_t peer, bool async,
                                            const c10d::WaitSignalOptions& opts) {
  WithoutGil blocking;
  const Site here = site(kWaitSignal);
  const auto open = registered(here);
  open->shape(here, peer);
  const int from = static_cast<int>(peer);
  const std::uint64_t ticket = open->take_ticket(from);
  auto work = c10::make_intrusive<WindowWork>(
      group_->group_, kWaitSignal,
      WindowWork::End{[open, from, ticket] {
                        if (open->window->read_signal(from) >= ticket) return true;
                        open->window->check();
                        return false;
                      },
                      [open, from, ticket](std::chrono::milliseconds time) {
                        open->window->wait_signal(from, ticket, time);
                      }},
      limit(opts.timeout));
  if (async) return work;
  try {
    work->wait(kNoTimeout);
  } catch (...) {
    open->give_back(from, ticket);
    throw;
  }
  return work;
}

at::Tensor WindowWeft::map_remote_tensor(std::int64_t rank) {
  const Site here = site(kMap);
  registered(here)->shape(here, rank);
  C10_THROW_ERROR(NotImplementedError,
                  "rank " + std::to_string(here.rank) + ", map_remote_tensor: the tensor of rank " +
                      std::to_string(rank) +
                      " is in ordinary memory, which no other process sees; put to it, or use "
                      "weft.Window.from_group() and its peer()");
}

c10d::WindowAttr WindowWeft::get_attr(std::int64_t peer) {
  const Site here = site(kAttributes);
  registered(here)->shape(here, peer);
  return {c10d::WindowAccessType::UNIFIED};
}

}  // namespace weft::torch_adapter

#endif  // C10D_BACKEND_HAS_WINDOW
