# The PyTorch adapter, against the torch of the Python in use. Torch itself says where its
# headers and libraries are: find_package(Torch) would also ask for the CUDA toolkit of its build.

set(WEFT_TORCH_VERSION "")
set(WEFT_TORCH_MISSING "")
file(GLOB torch_sources CONFIGURE_DEPENDS python/torch/*.cc)
execute_process(COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/find_torch.py"
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_VARIABLE why ERROR_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  string(REGEX REPLACE ".*\n" "" why "${why}")
  string(REPLACE "\"" "'" why "${why}")
  set(WEFT_TORCH_MISSING "when Weft was built, ${Python_EXECUTABLE} could not import torch (${why})")
elseif(NOT torch_sources)
  set(WEFT_TORCH_MISSING "python/torch has no sources")
endif()
if(WEFT_TORCH_MISSING)
  message(STATUS "weft: PyTorch adapter skipped: ${WEFT_TORCH_MISSING}")
  return()
endif()

# One line each: version, C++ ABI, include directories, library directories.
string(REPLACE "\n" "|" found "${found}")
string(REGEX MATCHALL "[^|]+" found "${found}")
list(GET found 0 WEFT_TORCH_VERSION)
list(GET found 1 torch_abi)
list(GET found 2 torch_includes)
list(GET found 3 torch_folders)
string(REPLACE ":" ";" torch_includes "${torch_includes}")
string(REPLACE ":" ";" torch_folders "${torch_folders}")
message(STATUS "weft: PyTorch adapter for torch ${WEFT_TORCH_VERSION}")

set(torch_libraries "")
foreach(name torch torch_cpu torch_python c10)
  find_library(weft_${name}_library ${name} PATHS ${torch_folders} NO_DEFAULT_PATH REQUIRED)
  list(APPEND torch_libraries "${weft_${name}_library}")
endforeach()

Python_add_library(_torch MODULE WITH_SOABI ${torch_sources})
target_compile_options(_torch PRIVATE -Wall -Wextra)
target_compile_definitions(_torch PRIVATE
  TORCH_EXTENSION_NAME=_torch TORCH_API_INCLUDE_EXTENSION_H _GLIBCXX_USE_CXX11_ABI=${torch_abi})
target_include_directories(_torch SYSTEM PRIVATE ${torch_includes})
target_link_libraries(_torch PRIVATE weft ${torch_libraries})
weft_compile_together(_torch 11)  # torch's headers are large
# Torch is imported before this module, so its libraries are there already; the second
# entry serves tools that look at the module alone.
set_target_properties(_torch PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${WEFT_PACKAGE_DIR}"
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib")
