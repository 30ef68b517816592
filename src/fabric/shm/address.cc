#include "fabric/shm/address.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>

#include "base/host.h"
#include "fabric/shm/layout.h"
#include "weft/error.h"

namespace weft::shm {
namespace {

constexpr std::size_t kLongestHost = 255;

// One printable word, so that the record's words can be counted.
std::string word(const std::string& text) {
  std::string clean;
  for (char c : text.substr(0, kLongestHost)) {
    clean += std::isgraph(static_cast<unsigned char>(c)) ? c : '_';
  }
  return clean.empty() ? "-" : clean;
}

}  // namespace

Address Address::own(const Token& token, const std::string& node) {
  const HostIdentity host = host_identity();
  const std::string& name = node.empty() ? host.node : node;
  const std::string part = name.empty() ? "" : "/" + name;
  return {kLayoutVersion,
          token,
          ::getpid(),
          host.user,
          word(host.boot + part),
          host.net_namespace,
          word(host.name + part)};
}

Address Address::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string fabric, token;
  Address address;
  in >> fabric >> address.version;
  if (fabric != "shm") {
    throw InvalidArgument("not the address of a shm fabric: \"" + std::string(text.substr(0, 80)) +
                          "\"; give every rank the same kind of fabric");
  }
  // Another version may have other words: the caller refuses it by its number.
  if (in && address.version != kLayoutVersion) return address;
  in >> token >> address.pid >> address.uid >> address.boot >> address.net_namespace >>
      address.host;
  const auto parsed = Token::parse(token);
  std::string rest;
  if (!in || !parsed || in >> rest) {
    throw InvalidArgument("damaged shm address: \"" + std::string(text.substr(0, 80)) + "\"");
  }
  address.token = *parsed;
  return address;
}

std::string Address::text() const {
  std::ostringstream out;
  out << "shm " << version << ' ' << token.hex() << ' ' << pid << ' ' << uid << ' ' << boot << ' '
      << net_namespace << ' ' << host;
  return out.str();
}

std::string Address::process() const {
  return "process " + std::to_string(pid) + " on host " + host;
}

std::string Address::obstacle(const Address& peer) const {
  if (peer.version != version) {
    return "it runs another version of Weft (shared memory layout " + std::to_string(peer.version) +
           ", here " + std::to_string(version) + "); install the same version everywhere";
  }
  if (peer.boot != boot) {
    return "it is on host " + peer.host + " and this rank on host " + host +
           "; shared memory reaches one host only: start all ranks on one";
  }
  if (peer.net_namespace != net_namespace) {
    return "it is in another network namespace (a container?) of host " + peer.host +
           ", this rank is on " + host + "; start all ranks in one container, or with its network";
  }
  if (peer.uid != uid) {
    return "it runs as user " + std::to_string(peer.uid) + " and this rank as user " +
           std::to_string(uid) + "; start all ranks as one user, in one user namespace";
  }
  return {};
}

std::pair<sockaddr_un, socklen_t> socket_of(const Token& token) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A leading zero byte makes the name abstract; the length says where it ends.
  const std::string name = std::string(1, '\0') + "weft-" + token.hex();
  std::copy(name.begin(), name.end(), address.sun_path);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())};
}

}  // namespace weft::shm
