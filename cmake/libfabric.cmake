# The fabric over libfabric needs its headers here; the library itself is looked for at run time.

find_path(WEFT_LIBFABRIC_HEADERS rdma/fi_endpoint.h)
mark_as_advanced(WEFT_LIBFABRIC_HEADERS)
# Another processor's libfabric is not here to be loaded.
if(WEFT_LIBFABRIC_HEADERS AND NOT CMAKE_CROSSCOMPILING)
  set(WEFT_OFI 1)
else()
  set(WEFT_OFI 0)
  list(FILTER weft_sources EXCLUDE REGEX "/src/fabric/ofi/")
  message(STATUS "weft: fabric ofi skipped: libfabric's headers were not found (Debian: libfabric-dev)")
endif()
