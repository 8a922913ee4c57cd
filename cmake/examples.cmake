# SPDX-License-Identifier: MIT
# Each examples/*.cc and examples/*.c is one program, at <build>/examples/<name>; each *.tcc, in
# Tame source, too. NAME.cc may have its XDR file NAME.x beside it. One whose head says
# `// Needs: PACKAGE` is built where pkg-config knows the package, and left out elsewhere;
# `// Needs: room NAME` is for a room that may be left out.

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
  if(needs MATCHES "^// Needs: room (.*)$")
    if(CMAKE_MATCH_1 IN_LIST HEDDLE_ROOMS_LEFT_OUT)
      continue()
    endif()
  elseif(needs)
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
  if(EXISTS "${PROJECT_SOURCE_DIR}/examples/${name}.x")
    heddle_rpcgen(example_${name} "${PROJECT_SOURCE_DIR}/examples/${name}.x")
  endif()
  heddle_precompiled(example_${name})
  add_dependencies(examples example_${name})
endforeach()

set(sources)
if(TARGET heddle::tame)  # cross-compiling, it may be missing
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.tcc")
endif()
foreach(source IN LISTS sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name})
  heddle_tame(example_${name} "${source}")
  heddle_precompiled(example_${name})
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_compile_options(example_${name} PRIVATE -Wall -Wextra
    $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  add_dependencies(examples example_${name})
endforeach()

# Each examples/draft/*.draft is one program, at <build>/examples/draft/<name>, with the C file that
# its head names: `extern "kv_table.h"` has kv_table.c beside it.
if(TARGET heddle::cli)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/draft/*.draft")
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(example_draft_${name})
    file(STRINGS "${source}" header REGEX "^extern \"" LIMIT_COUNT 1)
    if(header)
      string(REGEX REPLACE "^extern \"(.*)\\.h\".*$" "\\1.c" part "${header}")
      target_sources(example_draft_${name} PRIVATE "${PROJECT_SOURCE_DIR}/examples/draft/${part}")
    endif()
    heddle_draft(example_draft_${name} "${source}")
    set_target_properties(example_draft_${name} PROPERTIES C_EXTENSIONS ON
      OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples/draft")
    target_compile_options(example_draft_${name} PRIVATE -Wall -Wextra
      $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
    add_dependencies(examples example_draft_${name})
  endforeach()
endif()
