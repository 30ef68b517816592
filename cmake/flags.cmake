# Sets weft_flags for Weft's own code, and the sanitizers for everything.

# No contraction and no fast-math: all instruction sets give the same bits.
add_compile_options(-ffp-contract=off)

set(weft_flags -Wall -Wextra)
if(WEFT_WERROR)
  list(APPEND weft_flags -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Functions of a shared library may be inlined into each other.
  list(APPEND weft_flags -fno-semantic-interposition)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND weft_flags -Wno-restrict)  # false alarms on std::string (GCC bug 105651)
  endif()
endif()

if(WEFT_SANITIZE)
  set(sanitizer -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(WEFT_SANITIZE MATCHES "undefined")
    # Its check opens a pipe to look at memory, which fails in the tests that use up all descriptors.
    list(APPEND sanitizer -fno-sanitize=vptr)
  endif()
  add_compile_options(${sanitizer} -g1 -O1)
  add_link_options(${sanitizer})
  if(WEFT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC says that it does not model fences; the code base documents each one that it uses.
    add_compile_options(-Wno-tsan)
  endif()
  set(WEFT_PYTHON OFF)  # an uninstrumented interpreter cannot load them
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
endif()
