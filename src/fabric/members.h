// Shared handling of the addresses of a lane's members. `Address` is the fabric's own: it has
// parse(text), a token, and obstacle(peer).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft {

// An empty address is that of a member on another fabric. Throws InvalidArgument if `own` does
// not stand at `me`, and there only; Unsupported naming a member that `fabric` cannot reach.
template <typename Address>
std::vector<Address> parse_members(std::string_view fabric, const Address& own,
                                   const std::vector<std::string>& addresses, int me) {
  if (me < 0 || static_cast<std::size_t>(me) >= addresses.size()) {
    throw InvalidArgument("me: " + std::to_string(me) + " is no place among " +
                          std::to_string(addresses.size()) + " addresses");
  }
  std::vector<Address> members(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].empty()) continue;
    members[i] = Address::parse(addresses[i]);
    const bool is_own = members[i].token == own.token;
    if (is_own != (static_cast<int>(i) == me)) {
      throw InvalidArgument("addresses: this fabric's own is to stand at place " +
                            std::to_string(me) + " and nowhere else; every rank needs a fabric");
    }
    const std::string why = is_own ? "" : own.obstacle(members[i]);
    if (!why.empty()) {
      throw Unsupported(std::string(fabric) + " cannot reach rank " + std::to_string(i) + ": " +
                        why);
    }
  }
  return members;
}

// Runs `step` for one member and lets its error name the member.
template <typename Step>
auto naming(std::size_t place, Step step) {
  const auto member = [&] { return "rank " + std::to_string(place) + ": "; };
  try {
    return step();
  } catch (const PeerLost& error) {
    throw PeerLost(member() + error.what());
  } catch (const Timeout& error) {
    throw Timeout(member() + error.what());
  } catch (const Unsupported& error) {
    throw Unsupported(member() + error.what());
  }
}

}  // namespace weft
