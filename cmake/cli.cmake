# SPDX-License-Identifier: MIT
# The heddle program: src/cli/*.cc, one file a verb, and rooms serve and trace, at
# <build>/bin/heddle. A release build merges the handlers of `heddle serve` by the profile of its
# compiler, src/serve/serve.COMPILER.prof, which `make profile` makes. The plan comes from a smaller
# program that has the verb optimize only, since the whole one is not there yet.
include(optimize)

find_package(CLI11 QUIET)
heddle_optional(HEDDLE_CLI CLI11_FOUND "the heddle program (CLI11)" HEDDLE_WITH_CLI)
file(GLOB HEDDLE_CLI_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc"
     "${PROJECT_SOURCE_DIR}/src/serve/*.cc" "${PROJECT_SOURCE_DIR}/src/trace/*.cc")

# The profile for this build, or nothing. Sanitized and unoptimized programs are for looking inside.
function(heddle_cli_profile out)
  set(${out} "" PARENT_SCOPE)
  if(HEDDLE_OPTIMIZE STREQUAL "OFF" OR HEDDLE_SANITIZE OR NOT CMAKE_BUILD_TYPE MATCHES "^Rel|^Min")
    return()
  endif()
  heddle_compiler_name(compiler)
  string(REPLACE " " "-" name "${compiler}")
  set(profile "${PROJECT_SOURCE_DIR}/src/serve/serve.${name}.prof")
  if(EXISTS "${profile}")
    set(${out} "${profile}" PARENT_SCOPE)
  elseif(HEDDLE_OPTIMIZE STREQUAL "ON")
    message(FATAL_ERROR "heddle: HEDDLE_OPTIMIZE=ON, but missing: ${profile}. Run make profile.")
  else()
    message(STATUS "heddle: the heddle program is generic: no profile for ${compiler} "
                   "(make profile makes those of Clang 19 and GCC 12)")
  endif()
endfunction()

if(HEDDLE_WITH_CLI AND HEDDLE_CLI_SOURCES)
  add_executable(heddle_cli ${HEDDLE_CLI_SOURCES})
  set_target_properties(heddle_cli PROPERTIES OUTPUT_NAME heddle)
  target_compile_definitions(heddle_cli PRIVATE HEDDLE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(heddle_cli PRIVATE heddle_inside heddle_rooms heddle_draft heddle_rpcgen
                        heddle_tame CLI11::CLI11)
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/cli/draft.cc" APPEND PROPERTY COMPILE_DEFINITIONS
    HEDDLE_LINK_LIBRARIES="${HEDDLE_DRAFT_LINKS}" HEDDLE_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
  heddle_use_crypt(heddle_cli)
  if(PkgConfig_FOUND AND NOT HEDDLE_QR STREQUAL "OFF")
    pkg_check_modules(QRENCODE QUIET IMPORTED_TARGET libqrencode)
  endif()
  heddle_optional(HEDDLE_QR QRENCODE_FOUND "heddle serve --qr (libqrencode)" HEDDLE_WITH_QR)
  if(HEDDLE_WITH_QR)
    target_link_libraries(heddle_cli PRIVATE PkgConfig::QRENCODE)
    target_compile_definitions(heddle_cli PRIVATE HEDDLE_WITH_QR=1)
  endif()
  heddle_pieces(heddle_cli)
  heddle_precompiled(heddle_cli)
  heddle_lay_out(${HEDDLE_CLI_SOURCES})
  heddle_cli_profile(HEDDLE_CLI_PROFILE)
  if(HEDDLE_CLI_PROFILE)
    set(HEDDLE_PLANNER_SOURCES cli/planner/main.cc cli/optimize.cc serve/command.cc)
    list(TRANSFORM HEDDLE_PLANNER_SOURCES PREPEND "${PROJECT_SOURCE_DIR}/src/")
    add_executable(heddle_planner ${HEDDLE_PLANNER_SOURCES})
    set_target_properties(heddle_planner PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools")
    target_compile_options(heddle_planner PRIVATE -O0)  # it runs for a moment
    target_link_libraries(heddle_planner PRIVATE heddle_inside heddle_optimizer heddle_source
                          CLI11::CLI11)
    # The verbs are most of the program and bind nothing: linking is quick without them.
    foreach(verb IN ITEMS cli/main cli/doctor cli/draft cli/explain cli/graph cli/new cli/optimize
            cli/password cli/rpcgen cli/tame cli/trace serve/command serve/serve)
      set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/${verb}.cc" APPEND PROPERTY
                   COMPILE_OPTIONS -fno-lto)
    endforeach()
    heddle_optimize(heddle_cli PROFILE "${HEDDLE_CLI_PROFILE}" PLANNER heddle_planner)
    if(HEDDLE_FAT_ROOMS)
      target_link_options(heddle_cli PRIVATE -flto=thin -ffat-lto-objects)
    endif()
  endif()
  heddle_program(cli heddle_cli)

  # heddle serve and heddle proxy for tests that run them as nodes of a simulation.
  set(services ${HEDDLE_CLI_SOURCES})
  list(FILTER services INCLUDE REGEX "/src/serve/")
  add_library(heddle_services STATIC EXCLUDE_FROM_ALL ${services})
  target_link_libraries(heddle_services PRIVATE heddle_inside CLI11::CLI11 PUBLIC heddle_rooms
                        heddle_source)
  target_compile_options(heddle_services PRIVATE -fPIE)
  heddle_use_crypt(heddle_services)
  heddle_pieces(heddle_services)
  heddle_precompiled(heddle_services program)
endif()
