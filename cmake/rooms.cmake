# SPDX-License-Identifier: MIT
# A room is compiled once, as the object library room_<room> of the sources in src/<room>/.
# heddle_room(NAME [ROOMS room...] [LINKS target...]) makes one static library of rooms (ROOMS
# defaults to NAME), with the alias heddle::NAME, installed and exported. A room without sources yet
# becomes an interface library, so that others can already link it. What uses several rooms
# (the heddle program, examples, benchmarks) links heddle_rooms: all that were made.

add_library(heddle_rooms INTERFACE)

# heddle_library(TARGET SOURCE...): a library that is installed (install.cmake).
function(heddle_library target)
  add_library(${target} STATIC ${ARGN})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES ${target})
endfunction()

# The objects of one room; gives OUT the target's name, or nothing for a room without sources.
function(heddle_room_objects room out)
  set(${out} "" PARENT_SCOPE)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cc")
  if(NOT HEDDLE_WITH_URING)
    list(FILTER sources EXCLUDE REGEX "/src/io/uring[^/]*\\.cc$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(room_${room} OBJECT ${sources})
  target_link_libraries(room_${room} PRIVATE heddle_inside ${ARGN})
  heddle_pieces(room_${room})
  if(HEDDLE_SANITIZE)
    target_compile_options(room_${room} PRIVATE -O1)
    heddle_precompiled(room_${room} rooms)
  else()
    heddle_precompiled(room_${room})
  endif()
  if(HEDDLE_FAT_ROOMS)
    target_compile_options(room_${room} PRIVATE -flto=thin -ffat-lto-objects)
  endif()
  heddle_lay_out(${sources})
  set(${out} room_${room} PARENT_SCOPE)
endfunction()

function(heddle_room name)
  cmake_parse_arguments(room "" "" "ROOMS;LINKS" ${ARGN})
  if(NOT room_ROOMS)
    set(room_ROOMS ${name})
  endif()
  set(objects)
  foreach(each IN LISTS room_ROOMS)
    heddle_room_objects(${each} made ${room_LINKS})
    if(made)
      list(APPEND objects $<TARGET_OBJECTS:${made}>)
    endif()
  endforeach()

  set(target heddle_${name})
  if(name STREQUAL "heddle")
    set(target heddle)
  endif()
  if(objects)
    heddle_library(${target} ${objects})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES ${target})
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
endfunction()
