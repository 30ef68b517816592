// libfabric, found when it is first needed: the package works without it. All other functions are
// called through the tables in libfabric's own objects.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace weft::ofi {

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;
};

// Throws Unsupported saying why it cannot be loaded, and how to get it. Thread safe.
const Library& library();

// "fi_endpoint: Invalid argument". `code` is what a call returned, negative.
std::string error_text(const char* call, long code);
// Throws Unsupported with that text if `code` is negative.
void check(const char* call, long code);

}  // namespace weft::ofi
