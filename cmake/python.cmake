# The Python package: two modules and the sources, laid out whole in the build directory.

find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
set(core_missing "")
if(NOT Python_Development.Module_FOUND)
  set(core_missing "no Python >= 3.10 with its C headers was found")
else()
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE failed)
  if(failed)
    set(core_missing "nanobind is not installed in ${Python_EXECUTABLE}")
  endif()
endif()
if(core_missing AND DEFINED SKBUILD)
  message(FATAL_ERROR "weft: the Python package cannot be built: ${core_missing}")
elseif(core_missing)
  message(STATUS "weft: Python modules skipped: ${core_missing}")
  return()
endif()

find_package(nanobind CONFIG REQUIRED)
file(GLOB core_sources CONFIGURE_DEPENDS python/bindings/*.cc)
if(core_sources)
  nanobind_add_module(_core NOMINSIZE ${core_sources})
  target_compile_options(_core PRIVATE -Wall -Wextra)
  target_link_libraries(_core PRIVATE weft)
  set_target_properties(_core PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${WEFT_PACKAGE_DIR}"
    BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN")
endif()

include(cmake/torch.cmake)
include(cmake/simgrid.cmake)
configure_file(cmake/build_info.py.in "${WEFT_PACKAGE_DIR}/_build_info.py" @ONLY)

# Links, so that an edited source is live in the build directory's package.
file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/python/weft"
  python/weft/*.py python/weft/*.pyi python/weft/*.yaml python/weft/py.typed)
foreach(file IN LISTS package_files)
  get_filename_component(folder "${WEFT_PACKAGE_DIR}/${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/python/weft/${file}" "${WEFT_PACKAGE_DIR}/${file}" SYMBOLIC)
endforeach()
