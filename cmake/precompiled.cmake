# What spares the compiler work: a compiler cache or precompiled headers, not both. A cache keeps
# nothing that was compiled with precompiled headers, and where it is warm it saves far more.
#
# Parsed once each: what most tests include, what the PyTorch adapter includes (two thirds of its
# time), and in a sanitizer's build what the library includes. The library's plain build does
# without, so that it shows which header a source forgot.

find_program(WEFT_CCACHE ccache)
mark_as_advanced(WEFT_CCACHE)
if(WEFT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Relative paths, so that another checkout finds the same entries.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${WEFT_CCACHE}")
endif()

function(weft_precompile_headers target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <chrono> <functional> <map>
      <memory> <mutex> <optional> <set> <sstream> <string> <thread> <vector>)
  endif()
endfunction()
