# nlohmann/json, a header: the system's (Debian: nlohmann-json3-dev) or Python's (PyPI: nlohmann-json).

find_program(WEFT_ANY_PYTHON NAMES python3 python)
set(json_hint "")
foreach(python IN ITEMS "${Python_EXECUTABLE}" "${WEFT_ANY_PYTHON}")
  if(python AND NOT json_hint)
    execute_process(COMMAND "${python}" -c
      "from importlib.util import find_spec; print(find_spec('nlohmann_json').submodule_search_locations[0])"
      OUTPUT_VARIABLE json_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endforeach()
find_path(WEFT_JSON_INCLUDE nlohmann/json.hpp HINTS "${json_hint}/include" NO_CMAKE_FIND_ROOT_PATH)
if(NOT WEFT_JSON_INCLUDE)
  message(FATAL_ERROR "weft: nlohmann/json.hpp was not found: pip install nlohmann-json, "
    "or install nlohmann-json3-dev (Debian, Ubuntu), json-devel (Fedora)")
endif()
# By a link: a cross compiler must not see the other headers that lie beside it.
set(json_folder "${CMAKE_BINARY_DIR}/json")
file(MAKE_DIRECTORY "${json_folder}")
file(CREATE_LINK "${WEFT_JSON_INCLUDE}/nlohmann" "${json_folder}/nlohmann" SYMBOLIC)
target_include_directories(weft SYSTEM PRIVATE "${json_folder}")
