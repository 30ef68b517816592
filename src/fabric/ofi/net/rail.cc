#include "fabric/ofi/net/rail.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <utility>

#include "fabric/ofi/net/library.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// Few, since they are used in turn: what arrives should not have left the cache when its turn comes
// again. A buffer that is taken away is replaced at once.
constexpr std::size_t kReceivedBytes = 2 << 20, kLeastReceives = 2, kMostReceives = 8;
std::size_t receives_of(std::size_t bytes) {
  return std::clamp(kReceivedBytes / bytes, kLeastReceives, kMostReceives);
}
constexpr std::size_t kSendSlab = 128;

}  // namespace

Rail::Rail(std::shared_ptr<fi_info> info, std::size_t index, std::size_t most)
    : info_(std::move(info)),
      registers_local_(info_->domain_attr->mr_mode & FI_MR_LOCAL),
      virtual_addresses_(info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR),
      provider_keys_(info_->domain_attr->mr_mode & FI_MR_PROV_KEY),
      most_(most),
      sends_(index, kSmallPacketBytes, kSendSlab, registers()),
      receives_(index, most, receives_of(most), registers()) {
  open(info_.get());
  post_receives();
}

Ops::Register Rail::registers() {
  if (!registers_local_) return nullptr;
  return [this](std::byte* data, std::size_t bytes) {
    return register_memory(data, bytes, FI_SEND | FI_RECV);
  };
}

void Rail::open(fi_info* info) {
  fabric_ = opened<fid_fabric>("fi_fabric", [&](fid_fabric** fabric) {
    return library().fabric(info->fabric_attr, fabric, nullptr);
  });
  domain_ = opened<fid_domain>("fi_domain", [&](fid_domain** domain) {
    return fi_domain(fabric_.get(), info, domain, nullptr);
  });
  open_completions(info->tx_attr->size + info->rx_attr->size);
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  addresses_ = opened<fid_av>("fi_av_open", [&](fid_av** addresses) {
    return fi_av_open(domain_.get(), &table, addresses, nullptr);
  });
  endpoint_ = opened<fid_ep>("fi_endpoint", [&](fid_ep** endpoint) {
    return fi_endpoint(domain_.get(), info, endpoint, nullptr);
  });
  check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &addresses_->fid, 0));
  check("fi_enable", fi_enable(endpoint_.get()));
}

void Rail::open_completions(std::size_t entries) {
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_FD;
  queue.size = entries;
  fid_cq* completions = nullptr;
  if (fi_cq_open(domain_.get(), &queue, &completions, nullptr) == 0) {
    completions_.reset(completions);
    check("fi_control", fi_control(&completions->fid, FI_GETWAIT, &wait_descriptor_));
    return;
  }
  queue.wait_obj = FI_WAIT_NONE;
  completions_ = opened<fid_cq>("fi_cq_open", [&](fid_cq** made) {
    return fi_cq_open(domain_.get(), &queue, made, nullptr);
  });
}

std::string Rail::name() const {
  std::string name(256, '\0');
  std::size_t length = name.size();
  check("fi_getname", fi_getname(&endpoint_->fid, name.data(), &length));
  name.resize(length);
  return name;
}

fi_addr_t Rail::address_of(const std::string& name) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  // libfabric reads as many bytes as its own addresses have.
  if (name.size() != this->name().size() ||
      fi_av_insert(addresses_.get(), name.data(), 1, &address, 0, nullptr) != 1) {
    throw Unsupported("ofi: the provider does not take a peer's address");
  }
  return address;
}

void Rail::post_receives() {
  for (std::size_t i = 0; i < receives_of(most_); ++i)
    post_receive(receives_.take(Op::Kind::kReceive));
}

void Rail::post_receive(Op* op) {
  const long code =
      fi_recv(endpoint_.get(), op->buffer, most_, op->descriptor, FI_ADDR_UNSPEC, &op->context);
  if (code != 0) throw Unsupported("ofi: " + error_text("fi_recv", code));
}

bool Rail::inject(fi_addr_t to, const void* packet, std::size_t length) {
  return length <= info_->tx_attr->inject_size &&
         fi_inject(endpoint_.get(), packet, length, to) == 0;
}

void* Rail::descriptor(const Op& op) {
  const Registration* const region = op.payload.source ? op.payload.source->region.get() : nullptr;
  return region ? region->descriptor(op.rail) : nullptr;
}

long Rail::send(Op* op, fi_addr_t to) {
  const Payload& payload = op->payload;
  if (payload.bytes == 0)
    return fi_send(endpoint_.get(), op->buffer, op->length, op->descriptor, to, &op->context);
  const iovec parts[] = {{op->buffer, MessagePacket::kHead},
                         {const_cast<std::byte*>(payload.data), payload.bytes},
                         {op->seal, sizeof(Seal)}};
  void* descriptors[] = {op->descriptor, descriptor(*op), op->descriptor};
  return fi_sendv(endpoint_.get(), parts, descriptors, op->seal ? 3 : 2, to, &op->context);
}

long Rail::write(Op* op, fi_addr_t to, std::uint64_t address, std::uint64_t key) {
  const Payload& payload = op->payload;
  return fi_writedata(endpoint_.get(), payload.data, payload.bytes, descriptor(*op), op->mark, to,
                      address, key, &op->context);
}

long Rail::read(std::span<fi_cq_data_entry> entries) {
  return fi_cq_read(completions_.get(), entries.data(), entries.size());
}

Op* Rail::read_error(int& why) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_.get(), &error, 0) < 1) return nullptr;
  why = error.err;
  return static_cast<Op*>(error.op_context);
}

bool Rail::may_wait() {
  fid* queue = &completions_->fid;
  return fi_trywait(fabric_.get(), &queue, 1) == 0;
}

Handle<fid_mr> Rail::register_memory(std::byte* data, std::size_t bytes, std::uint64_t access,
                                     std::uint64_t key) {
  if (key == 0 && !provider_keys_) key = next_key_++;
  return opened<fid_mr>("fi_mr_reg", [&](fid_mr** region) {
    return fi_mr_reg(domain_.get(), data, bytes, access, 0, key, 0, region, nullptr);
  });
}

}  // namespace weft::ofi
