# SPDX-License-Identifier: MIT
# heddle_draft(TARGET a.draft ... [IMPORTS folder ...]) compiles Draft at build time: each file
# becomes a C source of the target, which links the runtime. Modules that a file uses are looked for
# beside it and in the folders of IMPORTS; the compiler writes down which it has read, and a change
# of one of them compiles the file again. Compilers and debuggers show the Draft source. Works in
# Heddle's tree and after find_package(heddle); the project needs the language C.
cmake_policy(PUSH)
cmake_policy(SET CMP0116 NEW)
function(heddle_draft target)
  if(NOT TARGET heddle::cli)
    message(FATAL_ERROR "heddle_draft(${target}): the program heddle is not installed (component "
                        "program). Cross-compiling, name its folder: -DHEDDLE_HOST_TOOLS=DIR")
  endif()
  cmake_parse_arguments(draft "" "" "IMPORTS" ${ARGN})
  set(imports)
  foreach(import IN LISTS draft_IMPORTS)
    get_filename_component(import "${import}" ABSOLUTE)
    list(APPEND imports -I "${import}")
    # Headers that its modules name in `extern` stand there.
    target_include_directories(${target} PRIVATE "${import}")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.draft")
  foreach(source IN LISTS draft_UNPARSED_ARGUMENTS)
    get_filename_component(from "${source}" ABSOLUTE)
    get_filename_component(beside "${from}" DIRECTORY)
    get_filename_component(name "${from}" NAME_WE)
    # Files of one name in several folders are several outputs.
    file(RELATIVE_PATH below "${CMAKE_CURRENT_SOURCE_DIR}" "${beside}")
    string(REPLACE ".." "up" below "${below}")
    cmake_path(SET output NORMALIZE "${folder}/${below}/${name}.c")
    get_filename_component(output_folder "${output}" DIRECTORY)
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${output_folder}"
      COMMAND heddle::cli draft ${imports} --depfile "${output}.d" -o "${output}" "${from}"
      DEPENDS "${from}" heddle::cli
      DEPFILE "${output}.d"
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
  if(TARGET heddle::net)  # HEDDLE_NET then chooses the program's TCP
    target_link_libraries(${target} PRIVATE heddle::net)
  endif()
endfunction()
cmake_policy(POP)
