# SPDX-License-Identifier: MIT
# What holds for every target of this tree: language level, warnings, sanitizers, linker, and the
# optional parts that were looked for. Says in one line each what was left out, and why.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The usual answer to "is this optional part there?": ON and missing is an error, AUTO and
# missing is a line of text, OFF is silent.
function(heddle_optional switch found what out)
  set(${out} OFF PARENT_SCOPE)
  if(${switch} STREQUAL "OFF")
    return()
  elseif(${found})
    set(${out} ON PARENT_SCOPE)
  elseif(${switch} STREQUAL "AUTO")
    message(STATUS "heddle: without ${what} (scripts/setup installs it)")
  else()
    message(FATAL_ERROR "heddle: ${switch}=${${switch}}, but missing: ${what}. Run scripts/setup.")
  endif()
endfunction()

find_program(HEDDLE_CCACHE ccache)
mark_as_advanced(HEDDLE_CCACHE)
if(HEDDLE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What a precompiled header holds is known by its contents, not by its date.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros "${HEDDLE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

# heddle_precompile(TARGET header...): read once a target instead of once a file, where
# HEDDLE_PRECOMPILE is on. The release preset goes without, and so proves every #include.
function(heddle_precompile target)
  if(NOT HEDDLE_PRECOMPILE)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()
# heddle_unity(TARGET): eight files are compiled as one where HEDDLE_UNITY is on, because most of a
# file's time goes into the headers that all read. So names in unnamed namespaces are told apart
# within a room. The release preset compiles each file by itself.
function(heddle_unity target)
  if(NOT HEDDLE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # To GCC all of it stands in a header, where an unnamed namespace would be a mistake.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()
set(HEDDLE_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <coroutine> <expected>
    <functional> <memory> <optional> <source_location> <span> <string> <string_view>
    <system_error> <tuple> <type_traits> <utility> <variant> <vector>)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT HEDDLE_URING STREQUAL "OFF")
  # 2.3 is the first with multishot receive and zero-copy send, and what Debian 12 has.
  pkg_check_modules(URING QUIET IMPORTED_TARGET liburing>=2.3)
endif()
heddle_optional(HEDDLE_URING URING_FOUND "the io_uring driver (liburing)" HEDDLE_WITH_URING)
set(HEDDLE_URING_TARGET)
if(HEDDLE_WITH_URING)
  set(HEDDLE_URING_TARGET PkgConfig::URING)
endif()

find_package(ZLIB QUIET)
heddle_optional(HEDDLE_ZLIB ZLIB_FOUND "compression on the fly (zlib)" HEDDLE_WITH_ZLIB)
set(HEDDLE_ZLIB_TARGET)
if(HEDDLE_WITH_ZLIB)
  set(HEDDLE_ZLIB_TARGET ZLIB::ZLIB)
endif()

# Everything built here, but nothing that a user's program inherits.
add_library(heddle_inside INTERFACE)
target_include_directories(heddle_inside INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
target_compile_options(heddle_inside INTERFACE -Wall -Wextra
  $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
target_compile_definitions(heddle_inside INTERFACE
  $<$<BOOL:${HEDDLE_WITH_URING}>:HEDDLE_WITH_URING=1>
  $<$<BOOL:${HEDDLE_WITH_ZLIB}>:HEDDLE_WITH_ZLIB=1>)

if(HEDDLE_SANITIZE)
  # Tests, examples and apps are compiled in half the time without optimizing; rooms are optimized.
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND PROJECT_IS_TOP_LEVEL)
  include(CheckLinkerFlag)
  check_linker_flag(CXX "-fuse-ld=lld" HEDDLE_HAS_LLD)
  if(HEDDLE_HAS_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# The rooms' libraries carry both machine code, which everybody links, and what the heddle program
# is optimized from as a whole (cli.cmake). Needs Clang 17 and its linker.
set(HEDDLE_FAT_ROOMS OFF)
if(HEDDLE_HAS_LLD AND NOT HEDDLE_OPTIMIZE STREQUAL "OFF" AND NOT HEDDLE_SANITIZE
   AND CMAKE_BUILD_TYPE MATCHES "^Rel|^Min")
  check_linker_flag(CXX "-fuse-ld=lld;-flto=thin;-ffat-lto-objects" HEDDLE_HAS_FAT_OBJECTS)
  if(HEDDLE_HAS_FAT_OBJECTS)
    set(HEDDLE_FAT_ROOMS ON)
  endif()
endif()

# How often each block of code runs while `heddle serve` serves, as the release build of Clang 19
# counted it: src/cli/serve.clang-19.profdata, which scripts/profile_blocks makes. Clang lays out
# rooms io and http and the program by it: a fifth fewer instructions a request. What was changed
# since then is compiled as without it. The rooms below serve everybody and stay as they are.
option(HEDDLE_COUNT_BLOCKS "Build a heddle program that counts how often each block runs" OFF)
set(HEDDLE_BLOCK_OPTIONS)
set(HEDDLE_BLOCK_PROFILE)
if(HEDDLE_FAT_ROOMS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  string(REGEX MATCH "^[0-9]+" version "${CMAKE_CXX_COMPILER_VERSION}")
  set(profile "${PROJECT_SOURCE_DIR}/src/cli/serve.clang-${version}.profdata")
  # Functions of one file are named with it, but not with where the tree stands.
  set(HEDDLE_BLOCK_OPTIONS -mllvm -static-func-strip-dirname-prefix=99)
  if(HEDDLE_COUNT_BLOCKS)
    list(APPEND HEDDLE_BLOCK_OPTIONS -fprofile-generate)
    add_link_options(-fprofile-generate)
  elseif(EXISTS "${profile}")
    set(HEDDLE_BLOCK_PROFILE "${profile}")
    list(APPEND HEDDLE_BLOCK_OPTIONS "-fprofile-use=${profile}" -Wno-profile-instr-unprofiled
         -Wno-profile-instr-out-of-date -Wno-backend-plugin)
  else()
    set(HEDDLE_BLOCK_OPTIONS)
  endif()
elseif(HEDDLE_COUNT_BLOCKS)
  message(FATAL_ERROR "heddle: HEDDLE_COUNT_BLOCKS needs Clang with its linker, lld, and a release")
endif()

# heddle_lay_out(SOURCE...): by that profile, if there is one.
function(heddle_lay_out)
  list(FILTER ARGN INCLUDE REGEX "/src/(io|http|cli)/[^/]*$")
  if(ARGN AND HEDDLE_BLOCK_OPTIONS)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${HEDDLE_BLOCK_OPTIONS})
    set_property(SOURCE ${ARGN} APPEND PROPERTY OBJECT_DEPENDS ${HEDDLE_BLOCK_PROFILE})
  endif()
endfunction()
