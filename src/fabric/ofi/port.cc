#include "fabric/ofi/port.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstring>
#include <utility>

#include "fabric/ofi/library.h"
#include "weft/error.h"

namespace weft::ofi {

// One operation that libfabric has, or that waits for it.
struct Op {
  fi_context2 context;  // first: what libfabric hands back is the whole
  enum class Kind { kReceive, kSend, kWrite } kind;
  Link* link;
  std::size_t length;
  std::byte* buffer;                     // kMostPacketBytes, of a slab
  void* descriptor;                      // of the buffer
  std::shared_ptr<const Source> source;  // kWrite, and the two that follow
  std::size_t offset;
  std::uint32_t mark;
  Account account;
};

struct Port::Slab {
  static constexpr std::size_t kOps = 128;
  std::array<Op, kOps> ops{};
  std::array<std::byte, kOps * kMostPacketBytes> buffers;
  fid_mr* region = nullptr;
};

namespace {

constexpr std::size_t kReceives = 2 * 128;  // whole slabs
constexpr std::size_t kBatch = 16;

template <typename Object>
void close(Object*& object) {
  if (object) fi_close(&object->fid);
  object = nullptr;
}

}  // namespace

// Holds the port's lock.
class Port::Locked {
 public:
  explicit Locked(Port& port) : port_(port), lock_(port.mutex_) {}
  Locked(Port& port, std::try_to_lock_t how) : port_(port), lock_(port.mutex_, how) {}
  ~Locked() {
    if (!lock_) return;
    const auto done_with = std::exchange(port_.done_with_, {});
    lock_.unlock();
  }
  explicit operator bool() const { return static_cast<bool>(lock_); }

 private:
  Port& port_;
  std::unique_lock<std::mutex> lock_;
};

Registration::Registration(std::shared_ptr<Port> port, std::byte* data, std::size_t bytes, Use use)
    : port_(std::move(port)) {
  std::lock_guard lock(port_->mutex_);
  const std::uint64_t access = use == Use::kWrite ? FI_REMOTE_WRITE : FI_SEND | FI_WRITE;
  const std::uint64_t key = port_->provider_keys_ ? 0 : port_->next_key_++;
  check("fi_mr_reg", fi_mr_reg(port_->domain_, data, bytes, access, 0, key, 0, &region_, nullptr));
  if (port_->virtual_addresses_) base_ = reinterpret_cast<std::uint64_t>(data);
}

Registration::~Registration() {
  if (port_->mark_.forked()) return;
  std::lock_guard lock(port_->mutex_);
  close(region_);
}

void* Registration::descriptor() const { return fi_mr_desc(region_); }
std::uint64_t Registration::key() const { return fi_mr_key(region_); }

std::shared_ptr<Port> Port::make(const Provider& provider, std::shared_ptr<Receiver> receiver) {
  return std::shared_ptr<Port>(new Port(provider, std::move(receiver)));
}

Port::Port(const Provider& provider, std::shared_ptr<Receiver> receiver)
    : info_(provider.info),
      receiver_(std::move(receiver)),
      registers_local_(info_->domain_attr->mr_mode & FI_MR_LOCAL),
      virtual_addresses_(info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR),
      provider_keys_(info_->domain_attr->mr_mode & FI_MR_PROV_KEY) {
  open(info_.get());
  post_receives();
}

void Port::open(fi_info* info) {
  check("fi_fabric", library().fabric(info->fabric_attr, &fabric_, nullptr));
  check("fi_domain", fi_domain(fabric_, info, &domain_, nullptr));
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = FI_WAIT_FD;
  queue.size = info->tx_attr->size + info->rx_attr->size;
  if (fi_cq_open(domain_, &queue, &completions_, nullptr) == 0) {
    check("fi_control", fi_control(&completions_->fid, FI_GETWAIT, &wait_descriptor_));
  } else {
    queue.wait_obj = FI_WAIT_NONE;
    check("fi_cq_open", fi_cq_open(domain_, &queue, &completions_, nullptr));
  }
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  check("fi_av_open", fi_av_open(domain_, &table, &addresses_, nullptr));
  check("fi_endpoint", fi_endpoint(domain_, info, &endpoint_, nullptr));
  check("fi_ep_bind", fi_ep_bind(endpoint_, &completions_->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(endpoint_, &addresses_->fid, 0));
  check("fi_enable", fi_enable(endpoint_));
}

Port::~Port() {
  if (mark_.forked()) return;
  std::lock_guard lock(mutex_);
  close(endpoint_);
  for (const auto& slab : slabs_) close(slab->region);
  close(addresses_);
  close(completions_);
  close(domain_);
  close(fabric_);
}

void Port::abandon(std::shared_ptr<Port> port) {
  static auto& abandoned = *new std::vector<std::shared_ptr<Port>>;
  static auto& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  abandoned.push_back(std::move(port));
}

std::string Port::name() const {
  std::lock_guard lock(mutex_);
  std::string name(256, '\0');
  std::size_t length = name.size();
  check("fi_getname", fi_getname(&endpoint_->fid, name.data(), &length));
  name.resize(length);
  return name;
}

Link& Port::link(const std::string& name) {
  std::lock_guard lock(mutex_);
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_, name.data(), 1, &address, 0, nullptr) != 1) {
    throw Unsupported("ofi: the provider does not take a peer's address");
  }
  Link& link = links_.emplace_back();
  link.address = address;
  return link;
}

Op* Port::take_op() {
  if (free_.empty()) {
    auto slab = std::make_unique<Slab>();
    if (registers_local_) {
      check("fi_mr_reg",
            fi_mr_reg(domain_, slab->buffers.data(), slab->buffers.size(), FI_SEND | FI_RECV, 0,
                      provider_keys_ ? 0 : next_key_++, 0, &slab->region, nullptr));
    }
    for (std::size_t i = 0; i < Slab::kOps; ++i) {
      slab->ops[i].buffer = slab->buffers.data() + i * kMostPacketBytes;
      slab->ops[i].descriptor = slab->region ? fi_mr_desc(slab->region) : nullptr;
      free_.push_back(&slab->ops[i]);
    }
    slabs_.push_back(std::move(slab));
  }
  Op* const op = free_.back();
  free_.pop_back();
  return op;
}

void Port::finish(Op* op) {
  if (const auto unsent = std::exchange(op->account.unsent, nullptr)) {
    // release: who sees that all is sent sees that the memory is free again.
    unsent->by_peer[op->account.peer].fetch_sub(1, std::memory_order_release);
    unsent->all.fetch_sub(1, std::memory_order_release);
  }
  if (op->source) done_with_.push_back(std::exchange(op->source, nullptr));
  free_.push_back(op);
}

void Port::post_receives() {
  for (std::size_t i = 0; i < kReceives; ++i) {
    Op* const op = take_op();
    op->kind = Op::Kind::kReceive;
    post_receive(op);
  }
}

void Port::post_receive(Op* op) {
  const long code = fi_recv(endpoint_, op->buffer, kMostPacketBytes, op->descriptor, FI_ADDR_UNSPEC,
                            &op->context);
  if (code != 0) throw Unsupported("ofi: " + error_text("fi_recv", code));
}

void Port::send(Link& link, const void* packet, std::size_t length, const Account& account) {
  const Locked lock(*this);
  if (link.broken) return;
  ++link.sent;
  if (link.pending.empty() && length <= info_->tx_attr->inject_size &&
      fi_inject(endpoint_, packet, length, link.address) == 0) {
    return;
  }
  Op* const op = take_op();
  op->kind = Op::Kind::kSend;
  op->length = length;
  op->account = account;
  std::memcpy(op->buffer, packet, length);
  submit(link, op);
}

void Port::write(Link& link, std::shared_ptr<const Source> source, std::size_t offset,
                 std::size_t bytes, WriteMark mark, const Account& account) {
  const Locked lock(*this);
  if (link.broken) return;
  ++link.sent;
  Op* const op = take_op();
  op->kind = Op::Kind::kWrite;
  op->length = bytes;
  op->source = std::move(source);
  op->offset = offset;
  op->mark = mark.bits();
  op->account = account;
  submit(link, op);
}

void Port::submit(Link& link, Op* op) {
  op->link = &link;
  if (op->account.unsent) {
    // relaxed: whoever asks is the thread that sends.
    op->account.unsent->by_peer[op->account.peer].fetch_add(1, std::memory_order_relaxed);
    op->account.unsent->all.fetch_add(1, std::memory_order_relaxed);
  }
  link.pending.push_back(op);
  flush(link);
}

// Hands an operation to libfabric, or says why not.
long Port::issue(Op* op) {
  Link& link = *op->link;
  if (op->kind == Op::Kind::kSend) {
    return fi_send(endpoint_, op->buffer, op->length, op->descriptor, link.address, &op->context);
  }
  const auto target = link.targets.find(op->source->segment);
  if (target == link.targets.end()) return -FI_EAGAIN;
  void* const descriptor = op->source->region ? op->source->region->descriptor() : nullptr;
  return fi_writedata(endpoint_, op->source->data + op->offset, op->length, descriptor, op->mark,
                      link.address, target->second.base + op->offset, target->second.key,
                      &op->context);
}

void Port::flush(Link& link) {
  while (!link.pending.empty()) {
    const long code = issue(link.pending.front());
    if (code == -FI_EAGAIN) break;
    if (code != 0) {
      break_link(link, error_text("fi_send", code));
      return;
    }
    link.pending.pop_front();
    ++link.in_flight;
  }
  if (link.pending.empty()) {
    waiting_.erase(&link);
  } else {
    waiting_.insert(&link);
  }
}

void Port::break_link(Link& link, const std::string& why) {
  link.broken = true;
  for (Op* op : std::exchange(link.pending, {})) finish(op);
  waiting_.erase(&link);
  receiver_->take_break(link, why);
}

void Port::grant(Link& link, std::uint32_t segment, Target target) {
  const Locked lock(*this);
  link.targets[segment] = target;
  if (!link.broken) flush(link);
}

void Port::forget(Link& link, std::uint32_t segment) {
  std::lock_guard lock(mutex_);
  link.targets.erase(segment);
}

std::int64_t Port::settled(Link& link) {
  const Locked lock(*this);
  progress_locked();
  const bool all = link.pending.empty() && link.in_flight == 0;
  return all ? static_cast<std::int64_t>(link.sent) : -1;
}

void Port::progress() {
  const Locked lock(*this);
  progress_locked();
}

void Port::poke() {
  // relaxed: it says that somebody is there, and orders nothing.
  pokes_.fetch_add(1, std::memory_order_relaxed);
  const Locked lock(*this, std::try_to_lock);
  if (lock) progress_locked();
}

void Port::progress_locked() {
  while (read_completions()) {
  }
  for (auto each = waiting_.begin(); each != waiting_.end();) flush(**each++);
}

// True if there may be more.
bool Port::read_completions() {
  std::array<fi_cq_data_entry, kBatch> entries;
  const long count = fi_cq_read(completions_, entries.data(), entries.size());
  if (count == -FI_EAVAIL) {
    read_error();
    return true;
  }
  for (long i = 0; i < count; ++i) complete(entries[static_cast<std::size_t>(i)]);
  return count == static_cast<long>(kBatch);
}

void Port::complete(const fi_cq_data_entry& entry) {
  if (entry.flags & FI_REMOTE_WRITE || (entry.flags & FI_REMOTE_CQ_DATA && entry.flags & FI_RMA)) {
    receiver_->take_write(WriteMark::of(entry.data));
    return;
  }
  Op* const op = static_cast<Op*>(entry.op_context);
  if (op->kind == Op::Kind::kReceive) {
    receiver_->take_packet(op->buffer, entry.len);
    post_receive(op);
  } else {
    --op->link->in_flight;
    finish(op);
  }
}

void Port::read_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(completions_, &error, 0) < 1 || !error.op_context) return;
  Op* const op = static_cast<Op*>(error.op_context);
  if (op->kind == Op::Kind::kReceive) {
    if (error.err != FI_ECANCELED) post_receive(op);
    return;
  }
  Link& link = *op->link;
  --link.in_flight;
  finish(op);
  if (!link.broken) break_link(link, library().strerror(error.err));
}

bool Port::may_wait() {
  std::lock_guard lock(mutex_);
  fid* queue = &completions_->fid;
  return fi_trywait(fabric_, &queue, 1) == 0;
}

}  // namespace weft::ofi
