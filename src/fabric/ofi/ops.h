// Operations that libfabric has or that wait for it, and the memory that they are made of.
#pragma once

#include <rdma/fi_domain.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fabric/ofi/handle.h"
#include "fabric/ofi/link.h"
#include "fabric/ofi/packet.h"

namespace weft::ofi {

struct Op {
  fi_context2 context;  // first: what libfabric hands back is the whole
  enum class Kind { kReceive, kSend, kWrite } kind;
  Link* link;
  std::size_t rail;
  std::size_t length;
  std::byte* buffer;                     // kMostPacketBytes, of a slab
  void* descriptor;                      // of the buffer
  std::shared_ptr<const Source> source;  // kWrite, and the two that follow
  std::size_t offset;
  std::uint32_t mark;
  Account account;
};

// The operations of one rail; what has been used is used again. Under the port's lock.
class Ops {
 public:
  // Makes memory known to the provider; empty where it does not ask for that.
  using Register = std::function<Handle<fid_mr>(std::byte* data, std::size_t bytes)>;
  Ops(std::size_t rail, Register registers) : rail_(rail), register_(std::move(registers)) {}

  // Throws Unsupported if memory cannot be registered.
  Op* take(Op::Kind kind);
  void give_back(Op* op) { free_.push_back(op); }

 private:
  struct Slab {
    static constexpr std::size_t kOps = 128;
    std::array<Op, kOps> ops{};
    std::array<std::byte, kOps * kMostPacketBytes> buffers;
    Handle<fid_mr> region;
  };
  void add_slab();

  const std::size_t rail_;
  const Register register_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<Op*> free_;
};

}  // namespace weft::ofi
