// torch's c10d::Window over a weft::Window: dist._new_window(tensor), since torch 2.14.
//
//   window = dist._new_window(tensor)              # collective: puts land in this very tensor
//   window.put(x, dst_rank=1, target_offset_nelems=10, async_op=False)
//   window.signal(1, async_op=False)               # on rank 0
//   window.wait_signal(0, async_op=False)          # on rank 1: x is in its tensor
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#ifdef C10D_BACKEND_HAS_WINDOW

#include <memory>
#include <mutex>

#include "process_group.h"

namespace weft::torch_adapter {

struct Registration;  // registration.h

// A put carries no signal. Each pair of ranks has one signal, which counts: the n-th wait for a
// peer's signal waits for its n-th signal. It then sees what that peer put before. Messages carry
// everything, within a node too, and the target's progress thread writes into the tensor.
//
// Timeouts are those of the call's options, or the group's. After one the window stays usable, and
// the next wait for that peer waits for the same signal. After a peer was lost or the group was
// aborted every call throws DistBackendError, and the tensor's content is undefined. Hints are not
// looked at. A work has no future. Thread safe.
class WindowWeft final : public c10d::Window {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  explicit WindowWeft(c10::intrusive_ptr<ProcessGroupWeft> group) : group_(std::move(group)) {}

  // Collective. A contiguous CPU tensor; ranks may give different sizes and types. If it is not
  // owned, the caller keeps its memory until the tensor is deregistered. If one rank's tensor is
  // refused, all throw BadArgument with that rank's words.
  void tensor_register(const at::Tensor& tensor, bool owning) override;
  // Collective: what was put has arrived everywhere, and nobody writes into the tensor any more.
  void tensor_deregister() override;

  // Of the target's element type, to that element on of its tensor, flattened. The work ends when
  // `tensor` may be written again.
  WorkPtr put(const at::Tensor& tensor, std::int64_t target, std::int64_t offset, bool async,
              const c10d::PutOptions& opts) override;
  // After the puts before it. The work has ended.
  WorkPtr signal(std::int64_t peer, bool async, const c10d::SignalOptions& opts) override;
  // An asynchronous one has its place among the waits for this peer from now on.
  WorkPtr wait_signal(std::int64_t peer, bool async, const c10d::WaitSignalOptions& opts) override;

  // Throws NotImplementedError: a tensor in ordinary memory is not mapped elsewhere.
  at::Tensor map_remote_tensor(std::int64_t rank) override;
  // UNIFIED: what is put lies in the tensor itself.
  c10d::WindowAttr get_attr(std::int64_t peer) override;

 private:
  Site site(const Operation& operation) const { return group_->site(operation); }
  // Throws BadArgument if no tensor is registered.
  std::shared_ptr<Registration> registered(const Site& site);
  std::chrono::milliseconds limit(std::chrono::milliseconds asked) const;

  const c10::intrusive_ptr<ProcessGroupWeft> group_;
  std::mutex mutex_;
  std::shared_ptr<Registration> registration_;  // under mutex_
};

}  // namespace weft::torch_adapter

#endif  // C10D_BACKEND_HAS_WINDOW
