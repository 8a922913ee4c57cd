# SPDX-License-Identifier: MIT
# heddle_tame(TARGET [DIALECT tamer|tame] [RETURNS TYPE] [SCAN_INCLUDES] a.tcc b.thh ...)
# translates Tame sources at build time: .tcc becomes a source of the target, .thh a header that it
# finds by its own name. Compilers and debuggers show the Tame source. With SCAN_INCLUDES, headers
# are read for macros that return. Works in Heddle's tree and after find_package(heddle).
function(heddle_tame target)
  if(NOT TARGET heddle::tame)
    message(FATAL_ERROR "heddle_tame(${target}): heddle-tame is not installed (component program). "
                        "Cross-compiling, name its folder: -DHEDDLE_HOST_TOOLS=DIR")
  endif()
  cmake_parse_arguments(tame "SCAN_INCLUDES" "DIALECT;RETURNS" "" ${ARGN})
  set(options)
  if(tame_DIALECT)
    list(APPEND options --dialect ${tame_DIALECT})
  endif()
  if(tame_RETURNS)
    list(APPEND options --returns ${tame_RETURNS})
  endif()
  if(tame_SCAN_INCLUDES)
    list(APPEND options --scan-includes)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.tame")
  set(headers)
  foreach(source IN LISTS tame_UNPARSED_ARGUMENTS)
    get_filename_component(from "${source}" ABSOLUTE)
    get_filename_component(name "${from}" NAME)
    string(REGEX REPLACE "\\.(tcc|tt|txx|tpp)$" ".cc" made "${name}")
    string(REGEX REPLACE "\\.(thh|th)$" ".hh" made "${made}")
    string(REGEX REPLACE "\\.T$" ".C" made "${made}")
    if(made STREQUAL name)
      message(FATAL_ERROR "heddle_tame: ${source} is no .tcc .thh .tt .th .txx .tpp or .T file")
    endif()
    set(output "${folder}/${made}")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND heddle::tame ${options} -MD "${output}.d" -o "${output}" "${from}"
      DEPENDS "${from}" heddle::tame
      DEPFILE "${output}.d"
      COMMENT "Translating ${name}" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
    # What the source includes by a relative name stands beside the source.
    get_filename_component(beside "${from}" DIRECTORY)
    target_include_directories(${target} PRIVATE "${folder}" "${beside}")
  endforeach()
  # GCC takes a file that #line names for a header, and warns of lambdas in the frames of templates.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  target_link_libraries(${target} PRIVATE heddle::tamer)
  if(TARGET heddle::net)  # HEDDLE_NET then chooses the program's TCP
    target_link_libraries(${target} PRIVATE heddle::net)
  endif()
endfunction()
