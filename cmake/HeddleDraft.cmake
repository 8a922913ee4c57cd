# SPDX-License-Identifier: MIT
# heddle_draft(TARGET a.draft ...) compiles Draft at build time: each file becomes a C source of the
# target, which links the runtime. Compilers and debuggers show the Draft source. Works in Heddle's
# tree and after find_package(heddle); the project needs the language C.
function(heddle_draft target)
  if(NOT TARGET heddle::cli)
    message(FATAL_ERROR "heddle_draft(${target}): the program heddle is not installed (component "
                        "program). Cross-compiling, name its folder: -DHEDDLE_HOST_TOOLS=DIR")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.draft")
  foreach(source IN LISTS ARGN)
    get_filename_component(from "${source}" ABSOLUTE)
    get_filename_component(name "${from}" NAME_WE)
    get_filename_component(beside "${from}" DIRECTORY)
    set(output "${folder}/${name}.c")
    # Modules that it uses are part of its C.
    file(GLOB modules CONFIGURE_DEPENDS "${beside}/*.draft")
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND heddle::cli draft -o "${output}" "${from}"
      DEPENDS ${modules} heddle::cli
      COMMENT "Compiling ${name}.draft" VERBATIM)
    set_source_files_properties("${output}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE "${output}")
    # Headers that it names in `extern` stand beside it.
    target_include_directories(${target} PRIVATE "${beside}")
  endforeach()
  target_compile_features(${target} PRIVATE c_std_11)
  # The runtime is C++.
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE heddle::heddle)
endfunction()
