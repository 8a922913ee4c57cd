# SPDX-License-Identifier: MIT
# The heddle program: src/cli/*.cc, one file a verb, at <build>/bin/heddle.

find_package(CLI11 QUIET)
heddle_optional(HEDDLE_CLI CLI11_FOUND "the heddle program (CLI11)" HEDDLE_WITH_CLI)
file(GLOB HEDDLE_CLI_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc")
if(HEDDLE_WITH_CLI AND HEDDLE_CLI_SOURCES)
  add_executable(heddle_cli ${HEDDLE_CLI_SOURCES})
  set_target_properties(heddle_cli PROPERTIES OUTPUT_NAME heddle)
  target_compile_definitions(heddle_cli PRIVATE HEDDLE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(heddle_cli PRIVATE heddle_inside heddle_rooms CLI11::CLI11)
  add_executable(heddle::cli ALIAS heddle_cli)
  set_target_properties(heddle_cli PROPERTIES EXPORT_NAME cli)
  install(TARGETS heddle_cli EXPORT heddle-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
