#include "fabric/ofi/net/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "base/environment.h"
#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "fabric/ofi/net/link.h"
#include "weft/error.h"

namespace weft::ofi {
namespace {

// Nobody's (RFC 5737): the way there is the way to everybody else.
constexpr const char* kOutside = "203.0.113.1";

std::string numeric(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  const int failed = ::getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return failed ? std::string() : text;
}

socklen_t length_of(const sockaddr* address) {
  return address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

// The own address from which packets to `host` would leave; empty if there is no way. Asks the
// kernel's table of routes: connecting a datagram socket sends nothing.
std::string source_toward(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each; each = each->ai_next) {
    const UniqueFd socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    auto* const address = reinterpret_cast<sockaddr*>(&own);
    if (socket && ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(socket.get(), address, &length) == 0) {
      return numeric(address, length);
    }
  }
  return {};
}

template <typename Fits>
bool pick(const std::vector<Interface>& all, const std::string& why, Interface& chosen, Fits fits) {
  const auto found = std::find_if(all.begin(), all.end(), fits);
  if (found == all.end()) return false;
  chosen = *found;
  chosen.why = why;
  return true;
}

bool toward(const std::vector<Interface>& all, const std::string& host, const std::string& why,
            Interface& chosen) {
  const std::string source = source_toward(host);
  return !source.empty() &&
         pick(all, why, chosen, [&](const Interface& each) { return each.address == source; });
}

[[noreturn]] void refuse(const std::string& asked, const std::string& why) {
  throw InvalidArgument("WEFT_INTERFACE is \"" + asked + "\", but " + why);
}

Interface asked_for(const std::vector<Interface>& all, const std::string& asked,
                    const std::string& word) {
  Interface chosen;
  const auto fits = [&](const Interface& i) { return i.name == word || i.address == word; };
  if (pick(all, "WEFT_INTERFACE", chosen, fits)) return chosen;
  std::string names;
  for (const Interface& each : all) names += " " + each.name + " (" + each.address + ")";
  refuse(asked, "the interfaces that are up and have an address are:" + names);
}

std::vector<Interface> those_asked_for(const std::vector<Interface>& all,
                                       const std::string& asked) {
  std::vector<Interface> chosen;
  std::istringstream words(asked);
  for (std::string word; std::getline(words, word, ',');) {
    Interface one = asked_for(all, asked, word);
    const auto same = [&](const Interface& other) { return other.address == one.address; };
    if (std::ranges::any_of(chosen, same)) refuse(asked, one.name + " is in it twice");
    chosen.push_back(std::move(one));
  }
  if (chosen.size() > kMostRails)
    refuse(asked, std::to_string(kMostRails) + " interfaces are the most");
  return chosen;
}

}  // namespace

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    throw Unsupported("ofi: cannot look at the interfaces, " + errno_text("getifaddrs"));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, ::freeifaddrs);
  std::vector<Interface> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = list; each; each = each->ifa_next) {
      if (!each->ifa_addr || each->ifa_addr->sa_family != family) continue;
      if (!(each->ifa_flags & IFF_UP)) continue;
      const std::string address = numeric(each->ifa_addr, length_of(each->ifa_addr));
      // An address of one link only says nothing without that link.
      if (address.empty() || address.find('%') != std::string::npos) continue;
      found.push_back({each->ifa_name, address, {}});
    }
  }
  return found;
}

std::vector<Interface> choose_interfaces() {
  const std::vector<Interface> all = interfaces();
  const std::string asked = Environment::read().interface;
  if (!asked.empty()) return those_asked_for(all, asked);
  Interface chosen;
  const char* master = std::getenv("MASTER_ADDR");
  if ((master && toward(all, master, "the way to MASTER_ADDR", chosen)) ||
      toward(all, kOutside, "the default route", chosen) ||
      pick(all, "the first one", chosen,
           [](const Interface& i) { return !is_loopback(i.address); }) ||
      pick(all, "there is no other", chosen, [](const Interface&) { return true; })) {
    return {chosen};
  }
  throw Unsupported("ofi: no network interface is up");
}

}  // namespace weft::ofi
