# SPDX-License-Identifier: MIT
# Tools that run on the developer's machine and need nothing of the runtime: src/source (files,
# positions, diagnostics), src/draft. heddle_host_tool(NAME [LINKS target...]) makes the static
# library heddle_NAME of src/NAME/*.cc and, where tests are built, NAME_test of
# tests/NAME/*_test.cc, which links no room and so builds quickly.

function(heddle_host_tool name)
  cmake_parse_arguments(tool "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc")
  if(NOT sources)
    return()  # a copy of the tree without host tools (scripts/mutate)
  endif()
  add_library(heddle_${name} STATIC ${sources})
  target_link_libraries(heddle_${name} PUBLIC ${tool_LINKS} PRIVATE heddle_inside)
  target_include_directories(heddle_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_compile_features(heddle_${name} PUBLIC cxx_std_23)
  target_compile_definitions(heddle_${name} PRIVATE HEDDLE_HOST_TOOL)
  heddle_pieces(heddle_${name})
  heddle_precompiled(heddle_${name})
endfunction()

function(heddle_host_tool_test name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cc")
  if(NOT sources OR NOT TARGET GTest::gtest)
    return()
  endif()
  add_executable(${name}_test ${sources})
  set_target_properties(${name}_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${name}_test PRIVATE
    test_support ${test_links_${name}} heddle_${name} GTest::gtest_main)
  heddle_pieces(${name}_test ${HEDDLE_UNITY_TESTS})
  heddle_precompiled(${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS "${name}" TIMEOUT 300)
endfunction()

# Hashes of passwords; a part of every Debian, but not of every system.
function(heddle_use_crypt target)
  find_library(HEDDLE_CRYPT crypt)
  find_path(HEDDLE_CRYPT_INCLUDE crypt.h)
  mark_as_advanced(HEDDLE_CRYPT HEDDLE_CRYPT_INCLUDE)
  if(HEDDLE_CRYPT AND HEDDLE_CRYPT_INCLUDE)
    target_compile_definitions(${target} PRIVATE HEDDLE_WITH_CRYPT)
    target_link_libraries(${target} PRIVATE "${HEDDLE_CRYPT}")
  else()
    message(STATUS "heddle: without hashes of passwords (libcrypt)")
  endif()
endfunction()

# heddle_program(NAME TARGET): a program that is installed (install.cmake), and that build steps run
# as heddle::NAME. A cross-built program does not run here: then heddle::NAME is the program in the
# folder HEDDLE_HOST_TOOLS, the bin of a native build or installation.
function(heddle_program name target)
  set_property(GLOBAL APPEND PROPERTY HEDDLE_PROGRAMS ${target})
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    add_executable(heddle::${name} ALIAS ${target})
  endif()
endfunction()

if(CMAKE_CROSSCOMPILING)
  set(HEDDLE_HOST_TOOLS "" CACHE PATH "Folder of a native heddle and heddle-tame (cross-compiling)")
  foreach(tool cli:heddle tame:heddle-tame)
    string(REGEX REPLACE ":.*" "" name "${tool}")
    string(REGEX REPLACE ".*:" "" file "${tool}")
    if(HEDDLE_HOST_TOOLS AND EXISTS "${HEDDLE_HOST_TOOLS}/${file}")
      add_executable(heddle::${name} IMPORTED)
      set_target_properties(heddle::${name} PROPERTIES
        IMPORTED_LOCATION "${HEDDLE_HOST_TOOLS}/${file}")
    else()
      message(STATUS "heddle: without what ${file} compiles at build time (cross-compiling: "
                     "-DHEDDLE_HOST_TOOLS=DIR names a folder with a native ${file})")
    endif()
  endforeach()
endif()

# What a program compiled from Draft is linked with, beside the library heddle.
set(HEDDLE_DRAFT_LINKS "-lstdc++ -lm -lpthread")
if(HEDDLE_WITH_URING AND NOT BUILD_SHARED_LIBS)
  string(APPEND HEDDLE_DRAFT_LINKS " -luring")
endif()

# heddle_draft(TARGET a.draft ...) is for users too.
include(HeddleDraft)
