#include "fabric/ofi/net/provider.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstring>
#include <utility>

#include "base/environment.h"
#include "fabric/ofi/net/library.h"
#include "fabric/ofi/net/packet.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

// The capabilities that port.cc uses, and those that it does not need.
Info hints(const char* provider) {
  Info hints(library().dupinfo(nullptr), library().freeinfo);
  if (!hints) throw Unsupported("ofi: fi_dupinfo: out of memory");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  // No thread of the provider's own beside driver.h's.
  hints->domain_attr->control_progress = hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->cq_data_size = 4;
  if (provider) hints->fabric_attr->prov_name = ::strdup(provider);
  return hints;
}

// A provider that layers messages over another provider's has its own protocol for messages that do
// not fit into its buffers, with a round trip. TCP keeps what comes before a receive is posted;
// where that is lost and sent again there are to be more of them, so shorter ones.
std::size_t eager_bytes(const std::string& provider) {
  constexpr std::size_t kBufferOfRxm = 16 << 10;
  if (provider.find(";ofi_rx") != std::string::npos) return kBufferOfRxm - MessagePacket::most(0);
  return provider.starts_with("tcp") ? kMostEagerBytes : kMostEagerBytes / 4;
}

// TCP's stream is written from the memory itself, once, by calls of the system that copy.
bool reads_in_order(const fi_info& info) {
  constexpr std::size_t kParts = 3;
  return std::string_view(info.fabric_attr->prov_name).starts_with("tcp") &&
         info.tx_attr->iov_limit >= kParts && !(info.domain_attr->mr_mode & FI_MR_LOCAL);
}

// Connections of its own, in which writes and messages keep their order, to memory that is named by
// its offset and the caller's key.
bool may_deliver(const fi_info& info) {
  const std::string_view name(info.fabric_attr->prov_name);
  return reads_in_order(info) && name.find(';') == name.npos &&
         !(info.domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY));
}

// Its own numeric address; empty if it has addresses of another kind.
std::string address_of(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = "";
  if (!info.src_addr) return {};
  if (info.addr_format == FI_SOCKADDR_IN) {
    const auto* in = static_cast<const sockaddr_in*>(info.src_addr);
    ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
  } else if (info.addr_format == FI_SOCKADDR_IN6) {
    const auto* in = static_cast<const sockaddr_in6*>(info.src_addr);
    ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text);
  }
  return text;
}

// Providers that are not taken unasked: for one machine only; superseded; layered where another one
// needs no layer; or with a wait descriptor that is always readable ("net" of libfabric 1.17, which
// became "tcp" later).
bool passed_over(const std::string& name) {
  for (const char* word : {"shm", "sockets", "udp", "net", "lnx"})
    if (name.starts_with(word)) return true;
  return false;
}

Provider::Rail rail_of(const fi_info& info, const Interface& interface) {
  fi_info* const one = library().dupinfo(&info);
  if (!one) throw Unsupported("ofi: fi_dupinfo: out of memory");
  one->next = nullptr;
  return {
      {one, library().freeinfo}, info.domain_attr->name ? info.domain_attr->name : "", interface};
}

// One info for each interface, of the provider of `first`. Fewer: the provider is not on all of
// them.
std::vector<Provider::Rail> rails_of(const fi_info* list, const fi_info& first,
                                     const std::vector<Interface>& interfaces) {
  // If a provider has addresses of its own kind, nothing tells which interface they are on.
  if (address_of(first).empty() && interfaces.size() == 1) return {rail_of(first, interfaces[0])};
  std::vector<Provider::Rail> rails;
  for (const Interface& interface : interfaces) {
    for (const fi_info* info = list; info; info = info->next) {
      if (std::strcmp(info->fabric_attr->prov_name, first.fabric_attr->prov_name) != 0) continue;
      if (address_of(*info) != interface.address) continue;
      rails.push_back(rail_of(*info, interface));
      break;
    }
  }
  return rails;
}

std::string text_of_interface(const Interface& interface) {
  return interface.name + " (" + interface.address + ")";
}

template <typename All, typename Text>
std::string joined(const All& all, Text text) {
  std::string out;
  for (const auto& each : all) out += (out.empty() ? "" : ", ") + text(each);
  return out;
}

}  // namespace

Provider choose_provider() {
  const std::string said = Environment::read().ofi_provider;
  const char* const asked = said.empty() ? nullptr : said.c_str();
  const std::vector<Interface> interfaces = choose_interfaces();
  fi_info* list = nullptr;
  const int failed =
      library().getinfo(FI_VERSION(1, 14), nullptr, nullptr, 0, hints(asked).get(), &list);
  const Info all(list, library().freeinfo);
  const std::string which = asked ? "provider \"" + std::string(asked) + "\" (WEFT_OFI_PROVIDER)"
                                  : "none of libfabric's providers";
  if (failed) {
    throw Unsupported("ofi: " + which + " has what Weft needs (" +
                      error_text("fi_getinfo", failed) + "); see fi_info -t FI_EP_RDM -c FI_RMA");
  }
  for (const fi_info* info = list; info; info = info->next) {
    if (!asked && passed_over(info->fabric_attr->prov_name)) continue;
    auto rails = rails_of(list, *info, interfaces);
    const char* const name = info->fabric_attr->prov_name;
    if (rails.size() == interfaces.size())
      return {name, eager_bytes(name), reads_in_order(*info), may_deliver(*info), std::move(rails)};
  }
  throw Unsupported("ofi: " + which + " serves " + joined(interfaces, text_of_interface) +
                    "; set WEFT_INTERFACE to another");
}

std::string describe(const Provider& provider) {
  const std::uint32_t version = library().version();
  return "libfabric " + std::to_string(FI_MAJOR(version)) + "." +
         std::to_string(FI_MINOR(version)) + ", " + provider.name + " on " +
         joined(provider.rails, [](const Provider::Rail& rail) {
           return rail.domain + " (" + rail.interface.address + ", " + rail.interface.why + ")";
         });
}

}  // namespace weft::ofi
