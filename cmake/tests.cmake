# The test binaries, what tests/mpi starts, and every example, which must at least compile.

file(GLOB example_sources CONFIGURE_DEPENDS examples/cpp/*.cc)
foreach(source IN LISTS example_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  target_compile_options(example_${name} PRIVATE ${weft_flags})
  target_link_libraries(example_${name} PRIVATE weft Threads::Threads)
endforeach()

# What tests/mpi starts by mpirun: a program, and the same for Python by ctypes. Neither knows an MPI.
if(NOT WEFT_SANITIZE AND EXISTS "${PROJECT_SOURCE_DIR}/tests/mpi/probe.cc")  # not in a source distribution
  add_executable(weft_mpi_test tests/mpi/library_test.cc tests/mpi/probe.cc)
  add_library(weft_mpi_probe MODULE tests/mpi/probe.cc)
  foreach(name IN ITEMS weft_mpi_test weft_mpi_probe)
    target_compile_options(${name} PRIVATE ${weft_flags})
    target_include_directories(${name} PRIVATE src)
    target_link_libraries(${name} PRIVATE weft Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()
endif()

find_package(GTest)
if(NOT GTest_FOUND)
  message(STATUS "weft: C++ tests skipped: GoogleTest was not found (Debian: libgtest-dev)")
  return()
endif()

# Cases share a process, up to so many processes a binary. GTEST_FILTER chooses among the cases.
set(weft_test_processes 16)
# What ships is the library: it is compiled as it ships, and undefined behaviour is looked for in
# it. In tests the optimizer and those checks would only take time.
set(weft_test_flags -O1)
if(WEFT_SANITIZE MATCHES "undefined")
  list(APPEND weft_test_flags -fno-sanitize=undefined)
endif()

# Compiled as all tests are, and linked to what they test.
function(weft_compile_tests name)
  target_compile_options(${name} PRIVATE ${weft_flags} ${weft_test_flags})
  target_include_directories(${name} PRIVATE src tests)
  target_include_directories(${name} SYSTEM PRIVATE "${json_folder}")
  target_compile_definitions(${name} PRIVATE WEFT_OFI=${WEFT_OFI} WEFT_HWLOC=${WEFT_HWLOC})
  target_link_libraries(${name} PRIVATE weft GTest::gtest Threads::Threads)
endfunction()

# What both weft_tests and weft_rank_tests run: ranks are threads in one, processes in the other.
set(weft_rank_cases)
foreach(case IN ITEMS fabric_test fabric_ending_test fabric_alone_test lent_test last_word_test
    over_fabrics_test alltoall_in_place_test collectives_test
    priority_test window_test window_errors_test)
  list(APPEND weft_rank_cases tests/conformance/${case}.cc)
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/tests/conformance")  # not in a source distribution
  add_library(weft_rank_cases OBJECT ${weft_rank_cases})
  weft_compile_tests(weft_rank_cases)
  weft_precompile_headers(weft_rank_cases <gtest/gtest.h>)
endif()

function(weft_add_tests name)
  set(sources)
  set(headers)
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS tests/${folder}/*.cc)
    list(APPEND sources ${found})
    file(GLOB found CONFIGURE_DEPENDS tests/${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  list(TRANSFORM weft_rank_cases PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE shared)
  list(REMOVE_ITEM sources ${shared})
  if(NOT sources)  # not in a source distribution
    return()
  endif()
  add_executable(${name} ${sources} ${headers})
  weft_compile_tests(${name})
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  weft_precompile_headers(${name} <gtest/gtest.h>)
  math(EXPR last "${weft_test_processes} - 1")
  foreach(shard RANGE ${last})
    set(test "${name}.${shard}")
    add_test(NAME ${test} COMMAND ${name} "--gtest_output=json:${CMAKE_BINARY_DIR}/cases/${test}.json")
    # A model that lends slots, whatever the processor. With this buffer size libfabric's
    # tcp;ofi_rxm sets 4 MiB aside for each rank instead of 64.
    set_tests_properties(${test} PROPERTIES TIMEOUT 600 ENVIRONMENT
      "WEFT_TUNING=none;WEFT_MODEL=intel;FI_OFI_RXM_BUFFER_SIZE=1024;GTEST_TOTAL_SHARDS=${weft_test_processes};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# Plans with one thing changed: what is proved of them must run right. `make test-mutants` runs all.
function(weft_add_mutants)
  file(GLOB sources CONFIGURE_DEPENDS tests/mutants/*.cc tests/mutants/*.h)
  if(NOT sources)  # not in a source distribution
    return()
  endif()
  add_executable(weft_mutants ${sources})
  weft_compile_tests(weft_mutants)
  add_test(NAME Mutants.ThatAreProvedAreRight COMMAND weft_mutants --each 1 --one-in 8)
  set_tests_properties(Mutants.ThatAreProvedAreRight PROPERTIES TIMEOUT 300)
endfunction()

# The conformance suite with one process a rank. tests/mpi starts it by mpirun.
function(weft_add_rank_tests)
  file(GLOB sources CONFIGURE_DEPENDS tests/ranks/*.cc tests/ranks/*.h)
  if(NOT sources)  # not in a source distribution
    return()
  endif()
  add_executable(weft_rank_tests ${sources})
  weft_compile_tests(weft_rank_tests)
  target_link_libraries(weft_rank_tests PRIVATE weft_rank_cases)
  # So that its symbol _end is seen, see docs/design/shmem.md.
  set_target_properties(weft_rank_tests PROPERTIES ENABLE_EXPORTS ON)
endfunction()

weft_add_tests(weft_tests unit conformance)
if(TARGET weft_tests)
  target_link_libraries(weft_tests PRIVATE weft_rank_cases)
  # Where copies are plain loops, sums are added up as they are sent in more cases.
  set(test weft_tests.plain_copies)
  add_test(NAME ${test} COMMAND weft_tests "--gtest_filter=LateSum.*:*Reproducible.*"
    "--gtest_output=json:${CMAKE_BINARY_DIR}/cases/${test}.json")
  set_tests_properties(${test} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "WEFT_TUNING=none;WEFT_MODEL=zen4;FI_OFI_RXM_BUFFER_SIZE=1024")
endif()
# Proofs and prices are computations of one thread: nothing for the thread sanitizer.
if(NOT WEFT_SANITIZE MATCHES "thread")
  weft_add_tests(weft_plan_tests plan)
  # Not by __FILE__: a compiler cache makes that relative to the build directory.
  set_source_files_properties(tests/plan/algorithms_test.cc PROPERTIES COMPILE_DEFINITIONS
    "WEFT_GOLDEN=\"${PROJECT_SOURCE_DIR}/tests/plan/golden\"")
endif()
if(NOT WEFT_SANITIZE)
  weft_add_mutants()
  weft_add_rank_tests()
endif()
