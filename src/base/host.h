// The user and host of this process, as far as they decide which peers it can reach.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct HostIdentity {
  std::string name;                 // the host's name, for messages only
  std::string boot;                 // the kernel's boot id: equal means the same running kernel
  std::uint64_t net_namespace = 0;  // inode of the network namespace; 0 if unknown
  // The effective user, by its number outside of this user namespace. Containers that map their
  // users to different numbers have different users for the kernel, even if the names are equal.
  std::uint32_t user = 0;
  // WEFT_NODE: processes of one host that name different nodes are treated as on different hosts.
  std::string node;

  // A text that is equal on ranks that share memory.
  std::string key() const;
};

// Read afresh at each call: a process may change its namespace.
HostIdentity host_identity();

}  // namespace weft
