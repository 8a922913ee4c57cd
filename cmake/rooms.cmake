# SPDX-License-Identifier: MIT
# A room is compiled once, as the object library room_<room> of the sources in src/<room>/.
# heddle_room(NAME [ROOMS room...] [LINKS target...]) makes one library of rooms (ROOMS defaults to
# NAME), with the alias heddle::NAME, installed and exported. A room without sources yet becomes an
# interface library, so that others can already link it. What uses several rooms (the heddle
# program, examples, benchmarks) links heddle_rooms: all that were made.
#
# Libraries are static. With BUILD_SHARED_LIBS they are shared, of the same objects. Before 1.0 any
# minor version may change interfaces, so it is part of the name that programs record.

add_library(heddle_rooms INTERFACE)

# A shared library exports what is in the namespaces heddle and tamer, with its tables (vtables,
# typeinfo, guards, thread-locals, thunks), the functions of heddle/abi.h, and libasync's names.
# Everything else is hidden: instantiations of std templates and copies of other libraries. One list
# for the linker does this, where a macro would have to be in each of 300 headers.
set(HEDDLE_EXPORTS "${PROJECT_BINARY_DIR}/package/exports.map")
if(BUILD_SHARED_LIBS)
  set(exported heddle_*)
  foreach(namespace 6heddle 5tamer)
    foreach(qualifier "" K R KR O KO)
      foreach(kind "" Z GV GVZ GR TH TW Thn*_ Tv*_)
        list(APPEND exported "_Z${kind}N${qualifier}${namespace}*")
      endforeach()
    endforeach()
    foreach(table V T I S C)
      list(APPEND exported "_ZT${table}N${namespace}*")
    endforeach()
  endforeach()
  # heddle_job and other structs of heddle/abi.h have member functions, and <tamer/http.hh> has
  # functions outside of any namespace.
  list(APPEND exported _ZN*heddle_job* _Z*http_method_str* _Z*http_errno_description*)
  # The names of libasync are its own (include/libasync).
  foreach(class 3str 4suio 6strbuf 7warnobj 8fatalobj 9parseargs 7conftab 4tame 9rpc_stats 5axprt
          12axprt_stream 10axprt_unix 8callbase 5aclnt 5svccb 4asrv 16asrv_delayed_eof)
    list(APPEND exported _ZN${class}* _ZNK${class}* _ZT?${class} _ZT?N${class}* _ZTv*_N${class}*
                         _ZT?10refcountedI${class}E)
  endforeach()
  foreach(function setprogname timenow make_async close_on_exec tcp_nodelay tcpconnect get_rpc_stats
                   clnt_sperrno authunix_create_default axprt_unix_connect)
    string(LENGTH ${function} length)
    list(APPEND exported _Z${length}${function}*)
  endforeach()
  list(APPEND exported progname _ZT?8refcount)
  list(JOIN exported ";\n    " exported)
  file(CONFIGURE OUTPUT "${HEDDLE_EXPORTS}" CONTENT
"{
  global:
    @exported@;
  local:
    *;
};
" @ONLY)
endif()

# heddle_library(TARGET SOURCE...): a library that is installed (install.cmake).
function(heddle_library target)
  add_library(${target} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES ${target})
  if(NOT BUILD_SHARED_LIBS)
    return()
  endif()
  set(interface_version ${PROJECT_VERSION_MAJOR})
  if(interface_version EQUAL 0)
    set(interface_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(${target} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${interface_version} INSTALL_RPATH "$ORIGIN"
    DEFINE_SYMBOL "" LINK_DEPENDS "${HEDDLE_EXPORTS}")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${HEDDLE_EXPORTS}")
  if(NOT HEDDLE_SANITIZE)  # whose functions come from the program
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()

# heddle_links(TARGET SCOPE target...). Public headers include none of other libraries, so a shared
# library needs those itself, and programs that use the installed one do not.
function(heddle_links target scope)
  foreach(link IN LISTS ARGN)
    if(NOT BUILD_SHARED_LIBS OR scope STREQUAL "INTERFACE"
       OR link MATCHES "^(heddle.*|Threads::Threads)$")
      target_link_libraries(${target} ${scope} ${link})
    else()
      target_link_libraries(${target} PRIVATE ${link} INTERFACE $<BUILD_INTERFACE:${link}>)
    endif()
  endforeach()
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
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(room_${room} PRIVATE HEDDLE_PLAIN_CALLS)
  endif()
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
  # For the frames of functions with aligned variables (core/promise.hh).
  target_compile_options(${target} INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fcoro-aligned-allocation>)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  heddle_links(${target} ${scope} ${room_LINKS})
  target_link_libraries(heddle_rooms INTERFACE ${target})
endfunction()
