# SPDX-License-Identifier: MIT
# Tame: the translator as a host tool (src/tame), the program heddle-tame that builds call, and the
# compatibility headers <tamer/...> with their library heddle::tamer (include/tamer, src/tamer).
# heddle_tame(TARGET a.tcc b.thh ...), in HeddleTame.cmake, is for users too.

if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/tame")
  return()  # a copy of the tree without host tools (scripts/mutate)
endif()
heddle_host_tool(tame LINKS heddle_source)

file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/tamer/*.cc")
heddle_library(heddle_tamer ${sources})
add_library(heddle::tamer ALIAS heddle_tamer)
set_target_properties(heddle_tamer PROPERTIES EXPORT_NAME tamer)
target_compile_features(heddle_tamer PUBLIC cxx_std_23)
target_include_directories(heddle_tamer
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_compile_options(heddle_tamer PRIVATE -Wall -Wextra $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
# libasync's arpc.h is over room rpc.
target_link_libraries(heddle_tamer PUBLIC heddle PRIVATE heddle_http heddle_rpc)

# One program under two names: heddle-tame, and tamer for makefiles that know that tool.
add_executable(heddle_tame_program
  "${PROJECT_SOURCE_DIR}/src/tame/tool/main.cc"
  "${PROJECT_SOURCE_DIR}/src/base/standard_streams.cc")
heddle_program(tame heddle_tame_program)
set_target_properties(heddle_tame_program PROPERTIES
  OUTPUT_NAME heddle-tame RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
target_link_libraries(heddle_tame_program PRIVATE heddle_tame heddle_inside)
add_custom_command(TARGET heddle_tame_program POST_BUILD
  COMMAND "${CMAKE_COMMAND}" -E create_symlink heddle-tame
          "$<TARGET_FILE_DIR:heddle_tame_program>/tamer")

include(HeddleTame)
