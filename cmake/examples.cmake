# SPDX-License-Identifier: MIT
# Each examples/*.cc and examples/*.c is one program, at <build>/examples/<name>. One whose head
# says `// Needs: PACKAGE` is built where pkg-config knows the package, and left out elsewhere.

if(NOT HEDDLE_EXAMPLES)
  return()
endif()
file(GLOB sources CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/examples/*.cc" "${PROJECT_SOURCE_DIR}/examples/*.c")
foreach(room IN LISTS HEDDLE_ROOMS_LEFT_OUT)
  list(FILTER sources EXCLUDE REGEX "/${room}_[^/]*$")
endforeach()
add_custom_target(examples ALL)
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME_WE)
  file(STRINGS "${source}" needs REGEX "^// Needs: " LIMIT_COUNT 1)
  set(needed)
  if(needs)
    string(REPLACE "// Needs: " "" package "${needs}")
    if(PkgConfig_FOUND)
      pkg_check_modules(EXAMPLE_${name} QUIET IMPORTED_TARGET "${package}")
    endif()
    if(NOT EXAMPLE_${name}_FOUND)
      message(STATUS "heddle: without example ${name} (it needs ${package})")
      continue()
    endif()
    set(needed PkgConfig::EXAMPLE_${name})
  endif()
  add_executable(example_${name} "${source}")
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  # An example sees what a user sees: the public headers, and the warnings that we promise.
  target_compile_options(example_${name} PRIVATE -Wall -Wextra
    $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  target_link_libraries(example_${name} PRIVATE heddle_rooms ${needed})
  add_dependencies(examples example_${name})
endforeach()
