// One-sided communication: a rank writes into a peer's memory and then changes a signal there.
//
//   auto window = weft::Window::create(*comm, bytes, signals);
//   window->put(x.data(), n, peer, 0, weft::SignalUpdate{7});    // here
//   window->wait_signal(7);                                      // there: the bytes are in place
//
// The vocabulary is that of GASPI, OpenSHMEM and NCCL; docs/window.md maps their calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace weft {

class Communicator;

enum class SignalOp : std::uint8_t { kSet, kAdd };

// What a signal at the target becomes. Signals are numbers of 64 bits, zero at first.
struct SignalUpdate {
  int signal = 0;
  std::uint64_t value = 1;
  SignalOp op = SignalOp::kSet;
};

// A piece of symmetric memory at each rank, with signals beside it. Ranks may give different sizes.
//
// Puts and signals of one rank to one target take effect in the order of the calls: who sees a
// signal sees all bytes of the puts up to it. Between different ranks or targets there is no order.
// The target takes no part. Ranks that share memory store directly. To others a progress thread
// sends, with the communicator's priority, and one applies there what comes.
//
// Thread safe. Two threads whose puts need an order give it to them themselves. After a peer was
// lost, the communicator was aborted or it ended, every call throws, and the window's content is
// undefined. A timeout of zero is the communicator's.
class Window {
 public:
  using Timeout = std::chrono::milliseconds;

  // Collective over the communicator's ranks: `bytes` zeroed bytes of data and `signals` signals at
  // this rank. Page aligned. If one rank cannot, all throw, naming it. The window may outlive the
  // communicator object.
  static std::shared_ptr<Window> create(Communicator& comm, std::size_t bytes, int signals);
  // The same over `bytes` bytes at `memory`, which keep their content and must live as long as the
  // window. They need not be symmetric: messages carry puts and signals to all other ranks, and the
  // target's progress thread writes there. So peer_data() is null for every peer. Throws
  // InvalidArgument on all ranks if `memory` is null and `bytes` is not zero.
  static std::shared_ptr<Window> create(Communicator& comm, void* memory, std::size_t bytes,
                                        int signals);
  // Closes it, and gives the memory back.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  int rank() const;
  int size() const;
  // Of this rank's part.
  std::byte* data() const;
  // Of a rank's part. Throws InvalidArgument for a rank that there is not.
  std::size_t bytes(int rank) const;
  int signals(int rank) const;
  // The data of a peer that shares memory with this rank, to be loaded and stored directly; null
  // for others. Signals order such accesses as they order puts.
  std::byte* peer_data(int rank) const;

  // Writes `bytes` bytes at `data` to `target`, `offset` bytes into its data, and then changes a
  // signal. Returns at once. `data` must stay unchanged until quiet(), or until `when_free` is
  // called: once, on any thread, which must not block. Throws InvalidArgument, and changes nothing,
  // if the piece does not lie in the target's data or the target has no such signal; PeerLost if
  // the target is lost or has left.
  void put(const void* data, std::size_t bytes, int target, std::size_t offset,
           std::optional<SignalUpdate> update = {}, std::function<void()> when_free = {});
  // Changes a signal after the puts before it.
  void signal(int target, SignalUpdate update);

  // Waits until a signal of this rank is at least `at_least`; its value. Throws Timeout, after
  // which the window stays usable; PeerLost if a rank is lost, or all have left.
  std::uint64_t wait_signal(int signal, std::uint64_t at_least = 1, Timeout timeout = {});
  // Waits until one of the signals first .. first + count - 1 of this rank is not zero: the lowest
  // such signal. Throws as wait_signal() does.
  int wait_some(int first, int count, Timeout timeout = {});
  // A signal of this rank, now. What was put before it is then visible.
  std::uint64_t read_signal(int signal) const;
  // The same, and sets it to zero, in one step.
  std::uint64_t fetch_reset(int signal);
  // Waits until the sources of all puts so far may be written again. They need not have arrived.
  // Throws as wait_signal() does.
  void quiet(Timeout timeout = {});

  // Throws what ended the window, if something has.
  void check();

  // Delivers what was put, for up to the communicator's timeout, and tells the peers that this rank
  // has left. Their puts to it throw PeerLost from then on; their waits go on as long as somebody
  // is there to signal. Here puts and waits throw InvalidArgument. The memory stays. May be called
  // again.
  void close();

  struct Impl;

 private:
  static std::shared_ptr<Window> make(Communicator& comm, std::unique_ptr<Impl> impl,
                                      std::size_t bytes, int signals);
  explicit Window(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
