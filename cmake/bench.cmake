# The compiled side of `weft bench`: Weft's driver and the memory limit's, small programs in the
# package. The peers' drivers share their sources and are compiled by scripts/peers.

set(bench_sources benchmarks/driver.cc benchmarks/job.cc benchmarks/meeting.cc benchmarks/pattern.cc)
add_library(bench_driver OBJECT ${bench_sources})
target_compile_options(bench_driver PRIVATE ${weft_flags})
foreach(name weft limit)
  add_executable(bench_${name} benchmarks/${name}.cc)
  target_compile_options(bench_${name} PRIVATE ${weft_flags})
  target_link_libraries(bench_${name} PRIVATE bench_driver weft Threads::Threads)
  set_target_properties(bench_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${WEFT_PACKAGE_DIR}/bin"
    BUILD_RPATH "$ORIGIN/.." BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN/..")
endforeach()
# What src/base/shipped_models.cc is made from: `ninja bench_copy bench_sketch`. Not installed.
foreach(name copy sketch)
  add_executable(bench_${name} EXCLUDE_FROM_ALL benchmarks/${name}.cc)
  target_compile_options(bench_${name} PRIVATE ${weft_flags})
  target_include_directories(bench_${name} PRIVATE src)
  target_link_libraries(bench_${name} PRIVATE weft Threads::Threads)
endforeach()
target_link_libraries(bench_sketch PRIVATE bench_driver)
foreach(name limit sketch)  # their ranks are threads
  target_sources(bench_${name} PRIVATE benchmarks/threads.cc)
endforeach()
# So that its symbol _end is seen: Open MPI's OpenSHMEM takes what lies below it for the program's data.
set_target_properties(bench_weft PROPERTIES ENABLE_EXPORTS ON)
target_include_directories(bench_limit PRIVATE src)  # for the reduction loops
install(TARGETS bench_weft bench_limit RUNTIME DESTINATION weft/bin)
