// One libfabric endpoint, of one network interface: the only file that calls libfabric to move
// data.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fabric/ofi/net/handle.h"
#include "fabric/ofi/net/link.h"
#include "fabric/ofi/net/ops.h"

namespace weft::ofi {

// Used under the port's lock, except constant members. Nothing here waits for a peer.
class Rail {
 public:
  // `index`: its place among the port's. Packets have at most `most` bytes. Throws Unsupported
  // saying what libfabric refuses.
  Rail(std::shared_ptr<fi_info> info, std::size_t index, std::size_t most);
  Rail(const Rail&) = delete;

  // The name by which peers reach it: any bytes.
  std::string name() const;
  // Throws Unsupported.
  fi_addr_t address_of(const std::string& name);

  // The operations of sent packets and writes, and of receives.
  Ops& sends() { return sends_; }
  Ops& receives() { return receives_; }
  void post_receive(Op* op);
  // True if the packet was taken whole.
  bool inject(fi_addr_t to, const void* packet, std::size_t length);
  // Hands an operation to libfabric: its answer, -FI_EAGAIN for later.
  long send(Op* op, fi_addr_t to);
  long write(Op* op, fi_addr_t to, std::uint64_t address, std::uint64_t key);

  // How many entries there are, or libfabric's answer.
  long read(std::span<fi_cq_data_entry> entries);
  // The operation that failed, and why (fi_strerror's number); null: none.
  Op* read_error(int& why);

  // A descriptor that becomes readable when there is something to read, or -1: the provider has
  // none. May be waited for if may_wait() says so just before.
  int wait_descriptor() const { return wait_descriptor_; }
  bool may_wait();

  // Whether memory that is sent from must be registered, too.
  bool registers_sources() const { return registers_local_; }
  // FI_REMOTE_WRITE, or FI_SEND | FI_WRITE, as `access`. `key` 0: any. Throws Unsupported.
  Handle<fid_mr> register_memory(std::byte* data, std::size_t bytes, std::uint64_t access,
                                 std::uint64_t key = 0);
  // The address that a peer's writes use for the first byte of `data`, which was registered.
  std::uint64_t base_of(const std::byte* data) const {
    return virtual_addresses_ ? reinterpret_cast<std::uint64_t>(data) : 0;
  }

 private:
  void open(fi_info* info);
  void open_completions(std::size_t entries);
  void post_receives();
  Ops::Register registers();
  // Of the payload.
  static void* descriptor(const Op& op);

  const std::shared_ptr<fi_info> info_;
  const bool registers_local_, virtual_addresses_, provider_keys_;
  const std::size_t most_;
  int wait_descriptor_ = -1;
  std::uint64_t next_key_ = 1;
  // Closed from the last to the first.
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> addresses_;
  Handle<fid_cq> completions_;
  Ops sends_, receives_;
  Handle<fid_ep> endpoint_;
};

}  // namespace weft::ofi
