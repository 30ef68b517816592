#include "base/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <fstream>

#include "base/environment.h"

namespace weft {
namespace {

// A line of the map: first number inside, first outside, how many. Itself where there is none.
std::uint32_t user_outside(std::uint32_t user) {
  std::ifstream map("/proc/self/uid_map");
  std::uint32_t inside, outside, count;
  while (map >> inside >> outside >> count) {
    if (user >= inside && user - inside < count) return outside + (user - inside);
  }
  return user;
}

}  // namespace

HostIdentity host_identity() {
  HostIdentity identity;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) identity.name = name.data();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> identity.boot;
  struct stat status{};
  if (::stat("/proc/self/ns/net", &status) == 0) identity.net_namespace = status.st_ino;
  identity.user = user_outside(::geteuid());
  identity.node = Environment::read().node;
  return identity;
}

std::string HostIdentity::key() const {
  return boot + "/" + std::to_string(net_namespace) + "/" + std::to_string(user) + "/" + node;
}

}  // namespace weft
