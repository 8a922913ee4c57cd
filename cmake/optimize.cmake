# SPDX-License-Identifier: MIT
# heddle_optimize(TARGET [TARGET...] PROFILE file [THETA share] [STRICT]) builds a program with the
# plan that `heddle optimize` makes of its profile. Name the program first, then every library of
# yours that binds handlers or raises topics. Without a profile, or with one that fits no more, the
# program is built all the same, and the build says what is missing. STRICT makes that an error.
# A target whose property INTERPROCEDURAL_OPTIMIZATION is set keeps it.
# PLANNER names the target of another program with the verb optimize than heddle itself.
#
#   add_executable(app main.cc)
#   heddle_optimize(app parts PROFILE ${CMAKE_SOURCE_DIR}/app.prof)

include_guard(GLOBAL)
include(CheckIPOSupported)
include(CheckLinkerFlag)

# The compiler as profiles name it: "clang 19", "gcc 12".
function(heddle_compiler_name out)
  string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
  string(REGEX MATCH "^[0-9]+" version "${CMAKE_CXX_COMPILER_VERSION}")
  if(compiler MATCHES "clang")
    set(compiler clang)
  elseif(compiler STREQUAL "gnu")
    set(compiler gcc)
  endif()
  set(${out} "${compiler} ${version}" PARENT_SCOPE)
endfunction()

# Whether link-time optimization works, and the options for it where CMake's own are not used. With
# Clang the objects carry machine code, too, so that every archiver takes them: CMake takes the
# llvm-ar that it finds, and another version's cannot read what this compiler writes.
function(heddle_link_time out_works out_options compiler)
  set(options "")
  set(works NO)
  if(compiler MATCHES "^clang ")
    check_linker_flag(CXX "-fuse-ld=lld;-flto=thin;-ffat-lto-objects" HEDDLE_HAS_FAT_OBJECTS)
    if(HEDDLE_HAS_FAT_OBJECTS)
      set(options -flto=thin -ffat-lto-objects)
      set(works YES)
    endif()
  endif()
  if(NOT works)
    check_ipo_supported(RESULT works OUTPUT why LANGUAGES CXX)
  endif()
  set(${out_works} "${works}" PARENT_SCOPE)
  set(${out_options} "${options}" PARENT_SCOPE)
endfunction()

function(heddle_optimize program)
  cmake_parse_arguments(opt "STRICT" "PROFILE;THETA;PLANNER" "" ${ARGN})
  if(NOT opt_PROFILE)
    message(FATAL_ERROR "heddle_optimize(${program}): name the profile: PROFILE file")
  endif()
  get_filename_component(profile "${opt_PROFILE}" ABSOLUTE)
  if(opt_PLANNER)
    set(tool ${opt_PLANNER})
  elseif(TARGET heddle::cli)
    set(tool heddle::cli)
  elseif(TARGET heddle_cli)
    set(tool heddle_cli)
  else()
    message(STATUS "heddle: ${program} is not optimized: the heddle program was not built (CLI11)")
    return()
  endif()

  heddle_compiler_name(compiler)
  set(arguments "${profile}" --build --compiler "${compiler}")
  if(opt_THETA)
    list(APPEND arguments --theta ${opt_THETA})
  endif()
  if(opt_STRICT)
    list(APPEND arguments --strict)
  endif()

  # Asked at each build, because the profile may appear or change between two builds. The files
  # are written only when they change.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${program}.plan")
  file(MAKE_DIRECTORY "${folder}")
  foreach(name plan.hh missing.cc)
    if(NOT EXISTS "${folder}/${name}")
      file(WRITE "${folder}/${name}" "")
    endif()
  endforeach()
  add_custom_target(${program}_plan
    COMMAND ${tool} optimize ${arguments} --header "${folder}/plan.hh"
            --fallback "${folder}/missing.cc"
    BYPRODUCTS "${folder}/plan.hh" "${folder}/missing.cc"
    COMMENT "Making the plan of ${program}"
    VERBATIM)

  # Stands behind the program's own objects in the link, and is used where those define nothing.
  add_library(${program}_missing STATIC "${folder}/missing.cc")
  add_dependencies(${program}_missing ${program}_plan)

  # Merged handlers say `inline`: to Clang, room for a handler with a raise in it. It bounds what
  # each call adds, and so the program, whatever the profile missed; 325 is usual. Measured with
  # bench/bus/chain: with 800 to 1,500 the short chain is as fast, with 325 a fifth slower.
  set(inlined_max 1200)
  heddle_link_time(lto lto_options "${compiler}")
  if(NOT lto)
    message(STATUS "heddle: ${program} without link-time optimization: handlers of other files "
                   "are called, not inlined")
  endif()
  foreach(target IN ITEMS ${program} ${opt_UNPARSED_ARGUMENTS})
    add_dependencies(${target} ${program}_plan)
    # A file of fixed name in a folder of its own: compilers' caches see its text, not its path.
    target_include_directories(${target} PRIVATE "${folder}")
    target_compile_definitions(${target} PRIVATE "HEDDLE_BUS_PLAN=<plan.hh>")
    if(compiler MATCHES "^gcc ")
      # At -O2, GCC does not inline functions of a handler's size across files.
      target_compile_options(${target} PRIVATE -O3)
    elseif(compiler MATCHES "^clang ")
      target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-mllvm -inlinehint-threshold=${inlined_max}>")
    endif()
    get_target_property(decided ${target} INTERPROCEDURAL_OPTIMIZATION)
    if(lto AND decided MATCHES "NOTFOUND$")  # else it stays as it was set
      if(lto_options)
        target_compile_options(${target} PRIVATE ${lto_options})
        target_link_options(${target} PRIVATE ${lto_options})
      else()
        set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
      endif()
    endif()
  endforeach()
  # Also behind each library: another program that links it has none of this one's handlers.
  foreach(target IN LISTS opt_UNPARSED_ARGUMENTS)
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES
                 "$<LINK_ONLY:$<BUILD_INTERFACE:${program}_missing>>")
  endforeach()
  target_link_libraries(${program} PRIVATE ${program}_missing)
  if(lto_options)
    # LLVM brings only small functions from other files, and ever smaller ones the longer the way to
    # them: room for a handler with a raise, and one that a handler raises counts as a near one.
    target_link_options(${program} PRIVATE -fuse-ld=lld LINKER:-mllvm,-import-instr-limit=200
                        LINKER:-mllvm,-import-instr-evolution-factor=1
                        LINKER:-mllvm,-inlinehint-threshold=${inlined_max})
  endif()
  add_custom_command(TARGET ${program} POST_BUILD
    COMMAND ${tool} optimize ${arguments} --check "$<TARGET_FILE:${program}>"
    VERBATIM)
endfunction()
