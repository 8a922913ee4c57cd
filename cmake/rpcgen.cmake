# SPDX-License-Identifier: MIT
# The compiler of .x files as a host tool (src/rpcgen), and as a small program for builds of this
# tree; users have `heddle rpcgen`. heddle_rpcgen(TARGET a.x ...), in HeddleRpcgen.cmake, is for
# users too.

if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/rpcgen")
  return()  # a copy of the tree without host tools (scripts/mutate)
endif()
heddle_host_tool(rpcgen LINKS heddle_source)
add_executable(heddle_rpcgen_program
  "${PROJECT_SOURCE_DIR}/src/rpcgen/tool/main.cc"
  "${PROJECT_SOURCE_DIR}/src/base/standard_streams.cc")
set_target_properties(heddle_rpcgen_program PROPERTIES
  OUTPUT_NAME heddle-rpcgen RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools")
target_link_libraries(heddle_rpcgen_program PRIVATE heddle_rpcgen heddle_inside)

include(HeddleRpcgen)
