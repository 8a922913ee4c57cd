# SPDX-License-Identifier: MIT
# heddle_rpcgen(TARGET a.x ... [LIBASYNC]) compiles XDR files at build time: a.x becomes the header
# a.hh, which the target's sources include by this name. The target links heddle::rpc. With LIBASYNC
# the header is a.h, in the style of libasync's compiler, for a target that includes arpc.h and
# links heddle::tamer. Works in Heddle's tree and after find_package(heddle).
function(heddle_rpcgen target)
  cmake_parse_arguments(PARSE_ARGV 1 rpcgen "LIBASYNC" "" "")
  if(TARGET heddle_rpcgen_program AND NOT CMAKE_CROSSCOMPILING)
    set(compiler heddle_rpcgen_program)
    set(command heddle_rpcgen_program)
  elseif(TARGET heddle::cli)
    set(compiler heddle::cli)
    set(command heddle::cli rpcgen)
  else()
    message(FATAL_ERROR "heddle_rpcgen(${target}): the program heddle is not installed (component "
                        "program). Cross-compiling, name its folder: -DHEDDLE_HOST_TOOLS=DIR")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.rpcgen")
  set(headers)
  set(suffix hh)
  set(style)
  if(rpcgen_LIBASYNC)
    set(suffix h)
    set(style --libasync)
  endif()
  foreach(source IN LISTS rpcgen_UNPARSED_ARGUMENTS)
    get_filename_component(from "${source}" ABSOLUTE)
    get_filename_component(name "${from}" NAME_WE)
    if(NOT source MATCHES "\\.x$")
      message(FATAL_ERROR "heddle_rpcgen: ${source} is no .x file")
    endif()
    set(output "${folder}/${name}.${suffix}")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND ${command} ${style} -o "${output}" "${from}"
      DEPENDS "${from}" ${compiler}
      COMMENT "Compiling ${name}.x" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
    list(APPEND headers "${output}")
  endforeach()
  # The target rpcgen_headers makes all headers, for tools that compile sources by themselves.
  if(NOT TARGET rpcgen_headers)
    add_custom_target(rpcgen_headers)
  endif()
  add_custom_target(${target}_rpcgen DEPENDS ${headers})
  add_dependencies(rpcgen_headers ${target}_rpcgen)
  add_dependencies(${target} ${target}_rpcgen)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${folder}>")
  target_link_libraries(${target} PUBLIC heddle::rpc)
endfunction()
