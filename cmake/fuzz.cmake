# SPDX-License-Identifier: MIT
# Each fuzz/<name>_fuzz.cc is a libFuzzer program, at <build>/fuzz/<name>; scripts/fuzz runs them.
# The whole tree is then built with coverage, so the fuzzer sees into the library.

if(NOT HEDDLE_FUZZ)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "heddle: HEDDLE_FUZZ needs Clang; use `cmake --preset fuzz`.")
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
add_custom_target(fuzzers ALL)
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name "${name}")
  add_executable(fuzz_${name} "${source}")
  set_target_properties(fuzz_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  target_link_libraries(fuzz_${name} PRIVATE heddle_inside heddle_http heddle_bus heddle)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
endforeach()
