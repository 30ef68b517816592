// Which of libfabric's providers carries the messages, and over which interface.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

#include "fabric/ofi/interface.h"

namespace weft::ofi {

struct Provider {
  std::shared_ptr<fi_info> info;
  std::string name;     // "tcp;ofi_rxm"
  std::string domain;   // "eth0"
  Interface interface;  // for the sockets by which fabrics meet
};

// Reliable datagrams with remote writes. WEFT_OFI_PROVIDER names the provider; else it is
// libfabric's fastest that either has addresses of its own kind or is on the chosen interface.
// Throws Unsupported saying what is missing, InvalidArgument as choose_interface.
Provider choose_provider();

// "libfabric 1.17, tcp;ofi_rxm on eth0 (192.0.2.2, the default route)"
std::string describe(const Provider& provider);

}  // namespace weft::ofi
