# SPDX-License-Identifier: MIT
# heddle_room(NAME [ROOMS room...] [LINKS target...]) makes one static library of the sources in
# src/<room>/ (ROOMS defaults to NAME), with the alias heddle::NAME, installed and exported. A room
# without sources yet becomes an interface library, so that others can already link it. What is
# built beside the rooms (tests, examples, benchmarks) links heddle_rooms: all that were made.

add_library(heddle_rooms INTERFACE)

function(heddle_room name)
  cmake_parse_arguments(room "" "" "ROOMS;LINKS" ${ARGN})
  if(NOT room_ROOMS)
    set(room_ROOMS ${name})
  endif()
  set(sources)
  foreach(each IN LISTS room_ROOMS)
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${each}/*.cc")
    list(APPEND sources ${found})
  endforeach()
  if(NOT HEDDLE_WITH_URING)
    list(FILTER sources EXCLUDE REGEX "/src/io/uring[^/]*\\.cc$")
  endif()

  set(target heddle_${name})
  if(name STREQUAL "heddle")
    set(target heddle)
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:heddle_inside>)
    heddle_precompile(${target} ${HEDDLE_STANDARD_HEADERS})
    heddle_unity(${target})
    if(HEDDLE_SANITIZE)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    if(HEDDLE_FAT_ROOMS)
      target_compile_options(${target} PRIVATE -flto=thin -ffat-lto-objects)
    endif()
    heddle_lay_out(${sources})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(heddle::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_23)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} ${scope} ${room_LINKS})
  target_link_libraries(heddle_rooms INTERFACE ${target})
  install(TARGETS ${target} EXPORT heddle-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
