# What tells of sockets, memory nodes and caches needs hwloc's headers here (2.5 or newer); the
# library itself is looked for at run time.

include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <hwloc.h>
  int main() { return HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING == 0; }" WEFT_HWLOC_HEADERS)
if(WEFT_HWLOC_HEADERS)
  set(WEFT_HWLOC 1)
else()
  set(WEFT_HWLOC 0)
  list(FILTER weft_sources EXCLUDE REGEX "/src/base/hwloc\\.cc$")
  message(STATUS "weft: sockets and caches will not be known: hwloc's headers were not found (Debian: libhwloc-dev)")
endif()
