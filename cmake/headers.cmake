# SPDX-License-Identifier: MIT
# Every public header must compile alone: one generated source a header, which includes it twice.
# heddle/abi.h is also compiled as C11 and as C23. Part of the preset `plain`, of whose files
# scripts/includes compiles those that a change concerns: one compiler's word is enough, and the
# tests include nearly every header with the other.
if(NOT HEDDLE_HEADERS)
  return()
endif()
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
     "${PROJECT_SOURCE_DIR}/include/heddle/*.hh" "${PROJECT_SOURCE_DIR}/include/heddle/*.h")
set(sources)
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER "${header}" name)
  set(source "${PROJECT_BINARY_DIR}/headers/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <@header@>\n#include <@header@>\n" @ONLY)
  list(APPEND sources "${source}")
endforeach()
if(sources)
  add_library(headers OBJECT ${sources})
  target_compile_options(headers PRIVATE -O0 -g0 -Wall -Wextra $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  target_link_libraries(headers PRIVATE heddle)
endif()

if(EXISTS "${PROJECT_SOURCE_DIR}/include/heddle/abi.h")
  set(source "${PROJECT_BINARY_DIR}/headers/abi.c")
  file(CONFIGURE OUTPUT "${source}"
       CONTENT "#include <heddle/abi.h>\n#include <heddle/abi.h>\n" @ONLY)
  foreach(standard 11 23)
    add_library(headers_c${standard} OBJECT "${source}")
    set_target_properties(headers_c${standard} PROPERTIES
      C_STANDARD ${standard} C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_include_directories(headers_c${standard} PRIVATE "${PROJECT_SOURCE_DIR}/include")
    target_compile_options(headers_c${standard} PRIVATE
      -Wall -Wextra -pedantic-errors $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  endforeach()
endif()
