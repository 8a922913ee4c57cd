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
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Packages for another machine are not those that scripts/setup installs.
set(HEDDLE_SETUP_HINT " (scripts/setup installs it)")
if(CMAKE_CROSSCOMPILING)
  set(HEDDLE_SETUP_HINT "")
endif()

# The usual answer to "is this optional part there?": ON and missing is an error, AUTO and
# missing is a line of text, OFF is silent.
function(heddle_optional switch found what out)
  set(${out} OFF PARENT_SCOPE)
  if(${switch} STREQUAL "OFF")
    return()
  elseif(${found})
    set(${out} ON PARENT_SCOPE)
  elseif(${switch} STREQUAL "AUTO")
    message(STATUS "heddle: without ${what}${HEDDLE_SETUP_HINT}")
  else()
    message(FATAL_ERROR
            "heddle: ${switch}=${${switch}}, but missing: ${what}${HEDDLE_SETUP_HINT}")
  endif()
endfunction()

# Object files do not depend on where the tree stands: ccache gets paths relative to the build
# folder, and the compiler replaces both forms of the tree's path by nothing. So a tree that was
# built in one folder compiles from the cache in every other one.
if(PROJECT_IS_TOP_LEVEL)
  file(RELATIVE_PATH HEDDLE_TREE_FROM_BUILD "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  string(REGEX REPLACE "/$" "" HEDDLE_TREE_FROM_BUILD "${HEDDLE_TREE_FROM_BUILD}")
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
                      "-ffile-prefix-map=${HEDDLE_TREE_FROM_BUILD}/=")
endif()
# Frames are aligned as their variables need it (core/promise.hh). Precompiled headers must agree.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  string(APPEND CMAKE_CXX_FLAGS " -fcoro-aligned-allocation")
endif()
find_program(HEDDLE_CCACHE ccache)
mark_as_advanced(HEDDLE_CCACHE)
if(HEDDLE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 "${HEDDLE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

# heddle_pieces(TARGET [SIZE]): SIZE files (HEDDLE_UNITY by default) are compiled as one, because
# most of a file's time goes into the headers that all read. So names in unnamed namespaces differ
# within a room, and within its tests. CMake's own unity builds name files by absolute paths, so
# that no other folder could take them from the cache.
function(heddle_pieces target)
  set(size ${HEDDLE_UNITY})
  if(ARGN)
    set(size ${ARGN})
  endif()
  if(size LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(apart)
  set(together)
  foreach(source IN LISTS sources)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(source MATCHES "\\.cc$" AND NOT options AND NOT definitions)
      file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${source}")
      list(APPEND together "${name}")
    else()
      list(APPEND apart "${source}")
    endif()
  endforeach()
  set(number 0)
  while(together)
    list(LENGTH together left)
    if(left GREATER size)
      set(left ${size})
    endif()
    list(SUBLIST together 0 ${left} batch)
    list(REMOVE_ITEM together ${batch})
    list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN batch "" content)
    set(unit "${PROJECT_BINARY_DIR}/unity/${target}_${number}.cc")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "${content}" @ONLY)
    list(APPEND apart "${unit}")
    math(EXPR number "${number} + 1")
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${apart}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  # To GCC all of it stands in a header, where an unnamed namespace would be a mistake.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()

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
if(PkgConfig_FOUND)
  pkg_check_modules(BROTLI QUIET IMPORTED_TARGET libbrotlienc libbrotlidec)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
endif()
heddle_optional(HEDDLE_BROTLI BROTLI_FOUND "compression as br (libbrotli)" HEDDLE_WITH_BROTLI)
heddle_optional(HEDDLE_ZSTD ZSTD_FOUND "compression as zstd (libzstd)" HEDDLE_WITH_ZSTD)
# What room http links, and the same for pkg-config.
set(HEDDLE_PACKERS)
set(HEDDLE_PC_PACKERS)
if(HEDDLE_WITH_ZLIB)
  list(APPEND HEDDLE_PACKERS ZLIB::ZLIB)
  list(APPEND HEDDLE_PC_PACKERS zlib)
endif()
if(HEDDLE_WITH_BROTLI)
  list(APPEND HEDDLE_PACKERS PkgConfig::BROTLI)
  list(APPEND HEDDLE_PC_PACKERS libbrotlienc libbrotlidec)
endif()
if(HEDDLE_WITH_ZSTD)
  list(APPEND HEDDLE_PACKERS PkgConfig::ZSTD)
  list(APPEND HEDDLE_PC_PACKERS libzstd)
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
# Only two files ask for these; a definition for all would compile all again.
set(HEDDLE_PACKER_DEFINITIONS $<$<BOOL:${HEDDLE_WITH_BROTLI}>:HEDDLE_WITH_BROTLI=1>
    $<$<BOOL:${HEDDLE_WITH_ZSTD}>:HEDDLE_WITH_ZSTD=1>)

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

# Two kinds of build that cannot make the optimized program.
foreach(case "BUILD_SHARED_LIBS:the program is optimized together with the code of its libraries"
        "CMAKE_CROSSCOMPILING:the build runs a program that it has built")
  string(REGEX REPLACE ":.*" "" switch "${case}")
  string(REGEX REPLACE "^[^:]*:" "" why "${case}")
  if(${switch} AND HEDDLE_OPTIMIZE STREQUAL "ON")
    message(FATAL_ERROR "heddle: HEDDLE_OPTIMIZE=ON does not work with ${switch}: ${why}. "
                        "Choose HEDDLE_OPTIMIZE=OFF.")
  elseif(${switch})
    set(HEDDLE_OPTIMIZE OFF)
  endif()
endforeach()

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
# counted it: src/serve/serve.clang-19.profdata, which scripts/profile_blocks makes. Clang lays out
# rooms io and http and the program by it: a fifth fewer instructions a request. What was changed
# since then is compiled as without it. The rooms below serve everybody and stay as they are.
option(HEDDLE_COUNT_BLOCKS "Build a heddle program that counts how often each block runs" OFF)
set(HEDDLE_BLOCK_OPTIONS)
set(HEDDLE_BLOCK_PROFILE)
if(HEDDLE_FAT_ROOMS AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  string(REGEX MATCH "^[0-9]+" version "${CMAKE_CXX_COMPILER_VERSION}")
  set(profile "${PROJECT_SOURCE_DIR}/src/serve/serve.clang-${version}.profdata")
  # Functions of one file are named with it, but not with where the tree stands.
  set(HEDDLE_BLOCK_OPTIONS -mllvm -static-func-strip-dirname-prefix=99)
  if(HEDDLE_COUNT_BLOCKS)
    list(APPEND HEDDLE_BLOCK_OPTIONS -fprofile-generate)
    add_link_options(-fprofile-generate)
  elseif(EXISTS "${profile}")
    set(HEDDLE_BLOCK_PROFILE "${profile}")
    # Relative, so that no other folder's objects differ by it.
    set(relative "${HEDDLE_TREE_FROM_BUILD}/src/serve/serve.clang-${version}.profdata")
    list(APPEND HEDDLE_BLOCK_OPTIONS "-fprofile-use=${relative}" -Wno-profile-instr-unprofiled
         -Wno-profile-instr-out-of-date -Wno-backend-plugin)
  else()
    set(HEDDLE_BLOCK_OPTIONS)
  endif()
elseif(HEDDLE_COUNT_BLOCKS)
  message(FATAL_ERROR "heddle: HEDDLE_COUNT_BLOCKS needs Clang with its linker, lld, and a release")
endif()

# heddle_lay_out(SOURCE...): by that profile, if there is one.
function(heddle_lay_out)
  list(FILTER ARGN INCLUDE REGEX "/src/(io|http|web|serve|cli)/[^/]*$")
  if(ARGN AND HEDDLE_BLOCK_OPTIONS)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${HEDDLE_BLOCK_OPTIONS})
    set_property(SOURCE ${ARGN} APPEND PROPERTY OBJECT_DEPENDS ${HEDDLE_BLOCK_PROFILE})
  endif()
endfunction()
