// Chooses the network interfaces: one, or one for each rail that is asked for.
#pragma once

#include <string>
#include <vector>

namespace weft::ofi {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // "192.0.2.2"; IPv6 where there is no other
  std::string why;      // it was chosen: "WEFT_INTERFACE"
};

// A numeric address that is reached from its own host only.
bool is_loopback(const std::string& address);

// The interfaces that are up and have an address.
std::vector<Interface> interfaces();

// The interfaces in WEFT_INTERFACE, by name or address ("eth0,eth1"), in its order; else the one
// by which MASTER_ADDR, then the world outside, is reached; else the first that is not the
// loopback, else that. Throws InvalidArgument naming what there is if WEFT_INTERFACE names what is
// none of it, or one twice, or more than kMostRails.
std::vector<Interface> choose_interfaces();

}  // namespace weft::ofi
