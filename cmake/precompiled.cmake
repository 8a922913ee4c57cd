# SPDX-License-Identifier: MIT
# cmake/standard_headers.hh, precompiled once a build: heddle_precompiled(TARGET) lets a target's
# C++ files begin with it, which saves 0.2 to 0.5 s a file. Only headers of the standard library are
# in it, so a header of ours that changes does not compile everything again. It hides a missing
# #include of a standard header: the preset `plain` and scripts/includes compile without it.
#
# CMake's own precompiled headers name files by absolute paths, so that no other folder could take
# objects from ccache. Here commands name the file relative to the build folder, and ccache compares
# the .sum file beside it (CCACHE_PCH_EXTSUM, options.cmake): a hash of the preprocessed text and of
# the options, which is the same in every folder.

# Clang only: GCC 12 spends its time after parsing (measured: 3 % of a piece of eight test files).
if(HEDDLE_PRECOMPILED AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(HEDDLE_PRECOMPILED OFF)
endif()
# Only Ninja runs every compiler in the build folder.
if(HEDDLE_PRECOMPILED AND NOT CMAKE_GENERATOR STREQUAL "Ninja")
  set(HEDDLE_PRECOMPILED OFF)
endif()

# heddle_precompile(NAME OPTION...): the target precompiled_NAME, which makes precompiled/NAME.pch.
function(heddle_precompile name)
  set(header "${PROJECT_SOURCE_DIR}/cmake/standard_headers.hh")
  set(folder "${PROJECT_BINARY_DIR}/precompiled")
  file(MAKE_DIRECTORY "${folder}")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  get_directory_property(everywhere COMPILE_OPTIONS)
  list(FILTER everywhere INCLUDE REGEX "^-f(no-)?sanitize")
  set(command "${CMAKE_CXX_COMPILER}" ${flags} ${CMAKE_CXX23_STANDARD_COMPILE_OPTION}
              ${everywhere} ${ARGN} -x c++-header)
  set(made "${folder}/${name}.pch")
  list(JOIN command " " words)
  add_custom_command(OUTPUT "${made}" "${made}.sum"
    COMMAND ${command} "${header}" -MD -MF "${made}.d" -MT "precompiled/${name}.pch" -o "${made}"
    COMMAND sh -c "{ echo '${words}'; ${words} -E -P '${header}'; } | sha256sum >'${made}.sum'"
    DEPENDS "${header}" DEPFILE "${made}.d"
    COMMENT "Precompiling the standard headers (${name})" VERBATIM)
  add_custom_target(precompiled_${name} DEPENDS "${made}")
endfunction()

# heddle_precompiled(TARGET [NAME]): NAME is the set of options, `library` or `program` by the
# target's type where it is not given.
function(heddle_precompiled target)
  if(NOT HEDDLE_PRECOMPILED)
    return()
  endif()
  set(name ${ARGN})
  if(NOT name)
    set(name library)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      set(name program)
    endif()
  endif()
  # Clang 19 forgets the pragmas of a precompiled header, by which the standard library permits its
  # own use of what is deprecated. Presets without precompiled headers and GCC still warn.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch precompiled/${name}.pch>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>")
  add_dependencies(${target} precompiled_${name})
endfunction()

if(HEDDLE_PRECOMPILED)
  heddle_precompile(library -fPIC)
  heddle_precompile(program -fPIE)
  if(HEDDLE_SANITIZE)
    heddle_precompile(rooms -fPIC -O1)  # rooms.cmake optimizes them
  endif()
endif()
