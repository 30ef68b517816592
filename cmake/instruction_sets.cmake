# src/kernels/isa_<name>.cc is one source compiled for one instruction set; which of them
# runs is chosen once by the processor. Only these files get more than the baseline's flags.
set(weft_isa_avx2 -mavx2 -mf16c -mbmi2)
set(weft_isa_avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mf16c)

# Sets the flags, and removes from the list those that this processor's family does not have.
function(weft_instruction_sets sources)
  set(kept ${${sources}})
  # The largest sources: compiled by themselves, side by side.
  file(GLOB all_isas "${PROJECT_SOURCE_DIR}/src/kernels/isa_*.cc")
  set_source_files_properties(${all_isas} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  foreach(isa avx2 avx512)
    set(file "${PROJECT_SOURCE_DIR}/src/kernels/isa_${isa}.cc")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
      set_source_files_properties("${file}" PROPERTIES
        COMPILE_OPTIONS "${weft_isa_${isa}}")
    else()
      list(REMOVE_ITEM kept "${file}")
    endif()
  endforeach()
  set(${sources} "${kept}" PARENT_SCOPE)
endfunction()
