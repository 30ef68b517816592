// Who and where this process is, as far as it decides which peers it can reach.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct HostIdentity {
  std::string name;                 // the host's name, for messages only
  std::string boot;                 // the kernel's boot id: equal means the same running kernel
  std::uint64_t net_namespace = 0;  // inode of the network namespace; 0 if unknown
  // The effective user, by its number outside of this user namespace: containers whose users are
  // mapped apart are different users to the kernel, whatever they call themselves.
  std::uint32_t user = 0;
  // WEFT_NODE: processes of one host that name different nodes are treated as on different hosts.
  std::string node;

  // What ranks that share memory have in common.
  std::string key() const;
};

// Read afresh at each call: a process may change its namespace.
HostIdentity host_identity();

}  // namespace weft
