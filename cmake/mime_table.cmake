# SPDX-License-Identifier: MIT
# Makes generated/mime_table.hh in the build folder of src/http/mime_types.txt, sorted by extension.
# mime.cc checks at compile time that it is sorted and that no extension is there twice.

set(types "${PROJECT_SOURCE_DIR}/src/http/mime_types.txt")
if(NOT EXISTS "${types}")
  return()  # a copy of the tree without room http (scripts/mutate)
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${types}")
# A semicolon would end an element of a list.
file(STRINGS "${types}" lines REGEX "^[^#]")
string(REPLACE "\\;" "@semicolon@" lines "${lines}")
list(SORT lines)
set(rows)
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^([^ ]+) (.+)$" "    {\"\\1\", \"\\2\"},\n" row "${line}")
  string(APPEND rows "${row}")
endforeach()
string(REPLACE "@semicolon@" ";" rows "${rows}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/mime_table.hh" CONTENT
"// Made of src/http/mime_types.txt by cmake/mime_table.cmake.
#pragma once

#include <string_view>

namespace heddle::http::detail {

struct mime_row {
  std::string_view extension;
  std::string_view type;
};
inline constexpr mime_row mime_rows[] = {
${rows}};

}  // namespace heddle::http::detail
" @ONLY)
