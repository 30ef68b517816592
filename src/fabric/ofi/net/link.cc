#include "fabric/ofi/net/link.h"

#include <rdma/fi_domain.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/ofi/net/port.h"

namespace weft::ofi {

std::string text_of(const Keys& keys) {
  return {reinterpret_cast<const char*>(keys.data()), sizeof keys};
}

Keys keys_of(const std::string& text) {
  Keys keys{};
  std::memcpy(keys.data(), text.data(), std::min(text.size(), sizeof keys));
  return keys;
}

Registration::Registration(std::shared_ptr<Port> port, std::byte* data, std::size_t bytes, Use use,
                           std::uint64_t key)
    : port_(std::move(port)) {
  std::lock_guard lock(port_->mutex_);
  const std::uint64_t access = use == Use::kWrite ? FI_REMOTE_WRITE : FI_SEND | FI_WRITE;
  for (const auto& rail : port_->rails_) {
    regions_.push_back(rail->register_memory(data, bytes, access, key));
    target_.keys[regions_.size() - 1] = fi_mr_key(regions_.back().get());
  }
  target_.base = port_->rails_.front()->base_of(data);
}

Registration::~Registration() {
  if (port_->mark_.forked()) {
    // They are the parent's.
    for (auto& region : regions_) (void)region.release();
    return;
  }
  std::lock_guard lock(port_->mutex_);
  regions_.clear();
}

void* Registration::descriptor(std::size_t rail) const { return fi_mr_desc(regions_[rail].get()); }

}  // namespace weft::ofi
