# Two test binaries, and every example, which must at least compile.

file(GLOB example_sources CONFIGURE_DEPENDS examples/cpp/*.cc)
foreach(source IN LISTS example_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  target_compile_options(example_${name} PRIVATE ${weft_flags})
  target_link_libraries(example_${name} PRIVATE weft Threads::Threads)
endforeach()

find_package(GTest)
if(NOT GTest_FOUND)
  message(STATUS "weft: C++ tests skipped: GoogleTest was not found (Debian: libgtest-dev)")
  return()
endif()
include(GoogleTest)
function(weft_add_tests name)
  set(sources)
  set(headers)
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS tests/${folder}/*.cc)
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS tests/${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  if(NOT sources)  # not in a source distribution
    return()
  endif()
  add_executable(${name} ${sources} ${headers})
  target_compile_options(${name} PRIVATE ${weft_flags})
  target_include_directories(${name} PRIVATE src tests)
  target_include_directories(${name} SYSTEM PRIVATE "${json_folder}")
  target_compile_definitions(${name} PRIVATE WEFT_OFI=${WEFT_OFI} WEFT_HWLOC=${WEFT_HWLOC})
  target_link_libraries(${name} PRIVATE weft GTest::gtest GTest::gtest_main Threads::Threads)
  # libfabric's tcp;ofi_rxm then sets 4 MiB aside for each rank instead of 64.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 ENVIRONMENT "WEFT_TUNING=none;FI_OFI_RXM_BUFFER_SIZE=1024")
endfunction()

weft_add_tests(weft_tests unit conformance)
# Proofs and prices are computations of one thread: nothing for the thread sanitizer.
if(NOT WEFT_SANITIZE MATCHES "thread")
  weft_add_tests(weft_plan_tests plan)
endif()
