# SPDX-License-Identifier: MIT
# Each fuzz/<name>_fuzz.cc is a libFuzzer program, at <build>/fuzz/<name>; scripts/fuzz runs them.
# The whole tree is then built with coverage, so the fuzzer sees into the library. With
# HEDDLE_HOUSE_TESTS the sources are compiled and not linked: a change of an interface that breaks a
# fuzzer then breaks the build.

if(NOT HEDDLE_FUZZ AND NOT HEDDLE_HOUSE_TESTS)
  return()
endif()
if(HEDDLE_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "heddle: HEDDLE_FUZZ needs Clang; use `cmake --preset fuzz`.")
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
# A fuzzer against a peer is left out where the peer is not installed.
find_path(HEDDLE_BEAST boost/beast/http.hpp)
mark_as_advanced(HEDDLE_BEAST)
if(NOT HEDDLE_BEAST)
  message(STATUS "heddle: without fuzz/http_beast (scripts/setup bench installs Boost)")
  list(FILTER sources EXCLUDE REGEX "_beast_fuzz\\.cc$")
endif()
if(NOT TARGET heddle_app_nfs)
  list(FILTER sources EXCLUDE REGEX "/nfs_fuzz\\.cc$")
endif()
if(NOT HEDDLE_WITH_TLS)
  list(FILTER sources EXCLUDE REGEX "/(acme|tls)_[^/]*_fuzz\\.cc$")
endif()
add_custom_target(fuzzers ALL)
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name "${name}")
  if(HEDDLE_FUZZ)
    add_executable(fuzz_${name} "${source}")
    set_target_properties(fuzz_${name} PROPERTIES
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_library(fuzz_${name} OBJECT "${source}")
    target_compile_options(fuzz_${name} PRIVATE -O0)
  endif()
  target_link_libraries(fuzz_${name} PRIVATE heddle_inside heddle_rooms)
  foreach(own heddle_${name} heddle_app_${name})  # a host tool, an app
    if(TARGET ${own})
      target_link_libraries(fuzz_${name} PRIVATE ${own})
    endif()
  endforeach()
  add_dependencies(fuzzers fuzz_${name})
endforeach()
