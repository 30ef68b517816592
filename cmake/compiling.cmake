# What spares the compiler work: a compiler cache where there is one, and sources compiled together.

find_program(WEFT_CCACHE ccache)
mark_as_advanced(WEFT_CCACHE)
if(WEFT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Relative paths, so that another checkout finds the same entries.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${WEFT_CCACHE}")
endif()

# Most of the compiler's time goes into what neighbours share. `make test` builds everything from
# nothing; whoever works on a few sources is quicker without what follows.
option(WEFT_UNITY "Compile the library six sources at a time, precompile tests' headers" OFF)

function(weft_compile_together target count)
  if(WEFT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

# Not together: tests have many functions of the same name. A cache keeps nothing of this.
function(weft_precompile_headers target)
  if(WEFT_UNITY AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <chrono> <functional> <map>
      <memory> <mutex> <optional> <set> <sstream> <string> <thread> <vector>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # What GCC says in vain of std::string, it also says of a precompiled <string> (bug 105651).
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    endif()
  endif()
endfunction()
