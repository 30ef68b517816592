// Which of the machine's network interfaces to use.
#pragma once

#include <string>
#include <vector>

namespace weft::ofi {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // "192.0.2.2"; IPv6 where there is no other
  std::string why;      // it was chosen: "WEFT_INTERFACE"
};

// Those that are up and have an address.
std::vector<Interface> interfaces();

// The one that WEFT_INTERFACE names or has the address of; else the one by which MASTER_ADDR, then
// the world outside, is reached; else the first that is not the loopback, else that. Throws
// InvalidArgument naming what there is if WEFT_INTERFACE is none of it.
Interface choose_interface();

}  // namespace weft::ofi
