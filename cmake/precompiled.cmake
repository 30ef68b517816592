# Under a sanitizer the headers that most sources include are parsed once: 0.2 to 0.5 s less for each.
# The plain build does without, so that it shows which header a source forgot; so does one with a
# compiler cache, which keeps nothing that was compiled so.

function(weft_precompile_headers target)
  if(WEFT_SANITIZE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <chrono> <functional> <map>
      <memory> <mutex> <optional> <set> <sstream> <string> <thread> <vector>)
  endif()
endfunction()
