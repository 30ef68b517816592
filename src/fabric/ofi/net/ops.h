// Operations that libfabric has or that wait for it, and the memory that they are made of.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/ofi/net/handle.h"
#include "fabric/ofi/net/link.h"
#include "fabric/ofi/net/packet.h"

namespace weft::ofi {

struct Op {
  fi_context2 context;  // first: what libfabric hands back is the whole
  enum class Kind { kReceive, kSend, kWrite, kDeliver } kind;
  Link* link;
  std::size_t rail;
  std::size_t length;  // of all that travels
  std::byte* buffer;   // of a slab
  void* descriptor;    // of the buffer
  Payload payload;
  std::uint32_t mark;    // kWrite, kDeliver
  std::uint64_t offset;  // kDeliver: where in the peer's output
  std::uint64_t key;     // kDeliver: of that
  Account account;

  // In the buffer, of a payload from the caller's memory; null: there is none.
  std::byte* seal;
  void set_seal(Seal value) const { std::memcpy(seal, &value, sizeof value); }
};

// Takes operations back that somebody was left with.
class Returns {
 public:
  virtual void give_back(Op* op) = 0;

 protected:
  ~Returns() = default;
};

// A packet that has arrived, in the buffer of its receive. Whoever takes it away keeps the bytes
// until it goes, which is not under the port's lock.
struct GiveBack {
  Returns* to = nullptr;
  void operator()(Op* op) const { to->give_back(op); }
};
using Arrived = std::unique_ptr<Op, GiveBack>;

// Operations of one rail; what has been used is used again. Under the port's lock.
class Ops {
 public:
  // Makes memory known to the provider; empty where it does not ask for that.
  using Register = std::function<Handle<fid_mr>(std::byte* data, std::size_t bytes)>;
  // Their buffers have `bytes` bytes. `slab`: how many are made at once.
  Ops(std::size_t rail, std::size_t bytes, std::size_t slab, Register registers);

  // Throws Unsupported if memory cannot be registered.
  Op* take(Op::Kind kind);
  void give_back(Op* op) { free_.push_back(op); }
  // Breaks the seals of what is sent from the caller's memory on this account.
  void break_seals(const Unsent& account);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Slab {
    std::vector<Op> ops;
    std::unique_ptr<std::byte, Free> buffers;
    Handle<fid_mr> region;
  };
  void add_slab();

  const std::size_t rail_, stride_, slab_;
  const Register register_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Op*> free_;
};

}  // namespace weft::ofi
