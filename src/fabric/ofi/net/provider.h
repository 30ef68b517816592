// Chooses libfabric's provider and the interfaces for messages.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>
#include <vector>

#include "fabric/ofi/net/interface.h"

namespace weft::ofi {

struct Provider {
  struct Rail {
    std::shared_ptr<fi_info> info;
    std::string domain;  // "eth0"
    Interface interface;
  };
  std::string name;         // "tcp;ofi_rxm"
  std::size_t eager;        // bytes of payload that a packet carries at most
  bool in_order;            // it reads what it sends from the first byte to the last
  bool delivers;            // it may write into a caller's memory: what connections.h ends
  std::vector<Rail> rails;  // fabrics meet by sockets on the interface of the first
};

// Reliable datagrams with remote writes. WEFT_OFI_PROVIDER names the provider; else it is
// libfabric's fastest that is on the chosen interfaces or, of one, has addresses of its own kind.
// Throws Unsupported saying what is missing, InvalidArgument as choose_interfaces.
Provider choose_provider();

// "libfabric 1.17, tcp;ofi_rxm on eth0 (192.0.2.2, the default route)"; of several rails all
std::string describe(const Provider& provider);

}  // namespace weft::ofi
