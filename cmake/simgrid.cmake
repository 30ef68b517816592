# The module weft._simgrid: plans simulated with SimGrid, where its headers are (Debian, Ubuntu:
# libsimgrid-dev). A module of its own, so that everything else works without.

set(WEFT_SIMGRID_MISSING "")
find_path(SIMGRID_INCLUDE simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
find_path(BOOST_INCLUDE boost/intrusive_ptr.hpp)
set(WEFT_SIMGRID_VERSION "")
if(SIMGRID_INCLUDE)
  file(STRINGS "${SIMGRID_INCLUDE}/simgrid/version.h" numbers REGEX "SIMGRID_VERSION_(MAJOR|MINOR)")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" WEFT_SIMGRID_VERSION "${numbers}")
endif()
if(NOT SIMGRID_INCLUDE OR NOT SIMGRID_LIBRARY OR NOT BOOST_INCLUDE)
  set(WEFT_SIMGRID_MISSING "when Weft was built, there was no SimGrid")
elseif(WEFT_SIMGRID_VERSION VERSION_LESS 3.32 OR NOT WEFT_SIMGRID_VERSION VERSION_LESS 4)
  set(WEFT_SIMGRID_MISSING "when Weft was built, there was SimGrid ${WEFT_SIMGRID_VERSION}, not 3.32 or a later 3.x")
  set(WEFT_SIMGRID_VERSION "")
endif()
if(WEFT_SIMGRID_MISSING)
  message(STATUS "weft: simulation skipped: ${WEFT_SIMGRID_MISSING}")
  return()
endif()
message(STATUS "weft: simulation with SimGrid ${WEFT_SIMGRID_VERSION}")

file(GLOB simgrid_sources CONFIGURE_DEPENDS src/simulate/*.cc python/simgrid/*.cc)
nanobind_add_module(_simgrid NOMINSIZE ${simgrid_sources})
target_compile_options(_simgrid PRIVATE -Wall -Wextra)
target_include_directories(_simgrid PRIVATE src)
target_include_directories(_simgrid SYSTEM PRIVATE "${SIMGRID_INCLUDE}")
target_link_libraries(_simgrid PRIVATE weft "${SIMGRID_LIBRARY}")
set_target_properties(_simgrid PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${WEFT_PACKAGE_DIR}"
  BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
