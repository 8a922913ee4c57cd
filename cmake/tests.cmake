# SPDX-License-Identifier: MIT
# One test program a room: tests/<room>/*.cc (and *.c) with tests/support/*.cc, registered as
# one ctest entry named after the room; a program that runs for long has several entries, each with
# a part of its tests. A file of Python is an entry of its own. Beside them: the installed package,
# and, where HEDDLE_HOUSE_TESTS is on, tidy, the docs and the benchmarks' apparatus. COST, in
# seconds, lets ctest start the longest first.

find_package(GTest QUIET)
heddle_optional(HEDDLE_TESTS GTest_FOUND "tests (GoogleTest)" HEDDLE_WITH_TESTS)
if(NOT HEDDLE_WITH_TESTS)
  return()
endif()
enable_testing()

# Sanitizers slow programs by 2 to 15 times; a hang must still end well within CI's time.
set(test_timeout_s 120)
if(HEDDLE_SANITIZE)
  set(test_timeout_s 300)
endif()

# What all test programs have. They find the tree and the build from where they stand
# (tests/support/tree.hh), because a path in a compiler's options would keep other folders from
# taking their objects from the cache.
add_library(test_support INTERFACE)
target_link_libraries(test_support INTERFACE heddle_inside GTest::gtest)
target_include_directories(test_support INTERFACE "${PROJECT_SOURCE_DIR}/tests")
# GoogleTest's checks are if-else statements; `if (a) EXPECT_EQ(...)` is no mistake.
target_compile_options(test_support INTERFACE -Wno-dangling-else -fPIE)
# Tests compile in an eighth less time at -O1. The library, the examples, and all of GCC's stay -O2.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"
   AND NOT HEDDLE_SANITIZE)
  target_compile_options(test_support INTERFACE -O1)
endif()

# The oracle for compiled Draft: it runs the typed tree itself.
if(TARGET heddle_draft)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/draft/*.cc")
  add_library(draft_interpreter STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(draft_interpreter PUBLIC heddle_draft PRIVATE heddle_inside)
  target_include_directories(draft_interpreter PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  set(test_links_draft draft_interpreter)
endif()

# A test that wants a diagnostic takes it from the runtime's hook; one on stderr is a false alarm.
# Left out are those that a slow machine makes true: slow-handler, blocking-pile-up.
string(CONCAT false_alarm
  "heddle: (abandoned-event|double-trigger|two-waiters|leftover-events|unhandled-exception|"
  "leaked-memory|freed-twice|wrong-color): ")

# Rooms of the house, then what is tested across rooms; a soak may take its time.
set(test_rooms base probe core sched io sim fiber hook sync abi
     tls names tcp net xdr rpc http fakes web client acme proxy bus nats optimizer cli examples soak
     roles cluster)
list(REMOVE_ITEM test_rooms ${HEDDLE_ROOMS_LEFT_OUT})
if(NOT TARGET heddle_services)
  list(REMOVE_ITEM test_rooms cluster)
endif()
# What a room's tests link beside the core, so that a change of one room does not link them all.
set(test_links_abi ${test_links_draft} heddle_draft)
set(test_links_fiber heddle_fiber)
set(test_links_hook heddle_hook heddle_web)
set(test_links_http heddle_http)
set(test_links_fakes heddle_fakes heddle_names)
set(test_links_web heddle_web heddle_net)
set(test_links_tls heddle_tls)
set(test_links_names heddle_names)
set(test_links_client heddle_client heddle_web heddle_net)
set(test_links_acme heddle_acme heddle_web)
set(test_links_proxy heddle_proxy heddle_web heddle_net)
if(HEDDLE_WITH_TLS)
  list(APPEND test_links_web heddle_tls)
endif()
set(test_links_bus heddle_bus)
set(test_links_nats heddle_nats)
set(test_links_optimizer heddle_optimizer)
set(test_links_tcp heddle_tcp)
set(test_links_net heddle_net)
set(test_links_xdr heddle_xdr)
set(test_links_rpc heddle_rpc)
set(test_links_cli heddle_rooms)
set(test_links_examples heddle_rooms)
set(test_links_soak heddle_web heddle_net)
set(test_links_cluster heddle_services heddle_fakes)
set(test_links_roles heddle_proxy heddle_client heddle_web heddle_net)
foreach(room IN LISTS test_rooms)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*.cc"
       "${PROJECT_SOURCE_DIR}/tests/${room}/*.c")
  if(NOT sources)
    continue()
  endif()
  add_executable(${room}_test ${sources})
  set_target_properties(${room}_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${room}_test PRIVATE
    test_support ${test_links_${room}} heddle GTest::gtest_main)
  file(GLOB xdr_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*.x")
  if(xdr_files)
    heddle_rpcgen(${room}_test ${xdr_files})
  endif()
  if(NOT room STREQUAL "hook")  # whose files have names in common
    heddle_pieces(${room}_test ${HEDDLE_UNITY_TESTS})
    heddle_precompiled(${room}_test)
  endif()
  if(room STREQUAL "abi")  # it compiles programs in Draft and runs them
    set(c_flags)
    set(c_compiler gcc)
    if(HEDDLE_SANITIZE)  # the library is Clang's, and so must the sanitizer's run time be
      set(c_flags "-fsanitize=${HEDDLE_SANITIZE} -fsanitize-link-c++-runtime")
      set(c_compiler clang-19)
    endif()
    target_compile_definitions(${room}_test PRIVATE HEDDLE_C_COMPILER="${c_compiler}"
      HEDDLE_LINK_LIBRARIES="${HEDDLE_DRAFT_LINKS}" HEDDLE_C_FLAGS="${c_flags}")
  endif()
  if(room MATCHES "^(hook|fakes)$")
    # Libraries that know nothing of us, against servers that the tests start.
    find_library(HEDDLE_PQ pq)
    find_path(HEDDLE_PQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql)
    set(libraries PQ)
    if(room STREQUAL "hook")
      find_library(HEDDLE_CURL curl)
      find_path(HEDDLE_CURL_INCLUDE curl/curl.h)
      list(APPEND libraries CURL)
    endif()
    foreach(library IN LISTS libraries)
      mark_as_advanced(HEDDLE_${library} HEDDLE_${library}_INCLUDE)
      if(HEDDLE_${library} AND HEDDLE_${library}_INCLUDE)
        target_include_directories(${room}_test SYSTEM PRIVATE "${HEDDLE_${library}_INCLUDE}")
        target_link_libraries(${room}_test PRIVATE "${HEDDLE_${library}}")
      else()
        message(STATUS "heddle: without hooks under ${library} (scripts/setup installs it)")
      endif()
    endforeach()
  endif()
  foreach(program heddle_cli examples)
    if(room MATCHES "^(cli|examples|soak)$" AND TARGET ${program})
      add_dependencies(${room}_test ${program})
    endif()
  endforeach()
  if(room STREQUAL "abi")  # it compiles many programs: each entry takes every fourth test
    foreach(part RANGE 3)
      math(EXPR number "${part} + 1")
      add_test(NAME abi_${number} COMMAND abi_test --gtest_brief=1)
      set_tests_properties(abi_${number} PROPERTIES LABELS abi TIMEOUT 900 COST 60
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part}"
                           FAIL_REGULAR_EXPRESSION "${false_alarm}")
    endforeach()
  else()
    add_test(NAME ${room} COMMAND ${room}_test --gtest_brief=1)
    set_tests_properties(${room} PROPERTIES LABELS "${room}" TIMEOUT ${test_timeout_s} COST 5
                         FAIL_REGULAR_EXPRESSION "${false_alarm}")
  endif()
  if(room STREQUAL "soak")
    set_tests_properties(soak PROPERTIES TIMEOUT 900 COST 40)
  endif()
  # The same bodies over other streams than TCP.
  if(room STREQUAL "web")
    set(transports unix layer user)
    if(HEDDLE_WITH_TLS)
      list(APPEND transports tls)
    endif()
    foreach(transport IN LISTS transports)
      add_test(NAME web_over_${transport} COMMAND web_test --gtest_brief=1)
      set_tests_properties(web_over_${transport} PROPERTIES
                           LABELS web TIMEOUT ${test_timeout_s}
                           ENVIRONMENT "HEDDLE_TEST_TRANSPORT=${transport}"
                           FAIL_REGULAR_EXPRESSION "${false_alarm}")
    endforeach()
  endif()
  if(room STREQUAL "tls" OR (room STREQUAL "web" AND HEDDLE_WITH_TLS))
    # TLS whose servers seal their records themselves.
    add_test(NAME ${room}_over_own_records COMMAND ${room}_test --gtest_brief=1)
    set_tests_properties(${room}_over_own_records PROPERTIES
                         LABELS ${room} TIMEOUT ${test_timeout_s}
                         ENVIRONMENT "HEDDLE_TEST_TRANSPORT=tls;HEDDLE_TEST_TLS_RECORDS=own"
                         FAIL_REGULAR_EXPRESSION "${false_alarm}")
  endif()
  if(room STREQUAL "client")
    add_test(NAME client_over_http2 COMMAND client_test --gtest_brief=1)
    set_tests_properties(client_over_http2 PROPERTIES
                         LABELS client TIMEOUT ${test_timeout_s} ENVIRONMENT "HEDDLE_TEST_HTTP=2"
                         FAIL_REGULAR_EXPRESSION "${false_alarm}")
  endif()
  if(room STREQUAL "proxy")
    add_test(NAME proxy_to_http2 COMMAND proxy_test --gtest_brief=1)
    set_tests_properties(proxy_to_http2 PROPERTIES
                         LABELS proxy TIMEOUT ${test_timeout_s} ENVIRONMENT "HEDDLE_TEST_UPSTREAM=2"
                         FAIL_REGULAR_EXPRESSION "${false_alarm}")
  endif()
  # The same bodies on several workers, in another order each time; the seed is in the output.
  if(room MATCHES "^(core|sync|io|fiber)$")
    foreach(workers 2 4)
      add_test(NAME ${room}_on_${workers}_workers COMMAND
               "${PROJECT_SOURCE_DIR}/scripts/with_workers" ${workers}
               $<TARGET_FILE:${room}_test> --gtest_brief=1)
      set_tests_properties(${room}_on_${workers}_workers PROPERTIES
                           LABELS "${room}" TIMEOUT ${test_timeout_s}
                           FAIL_REGULAR_EXPRESSION "${false_alarm}")
    endforeach()
  endif()
endforeach()

# Host tools have test programs of their own, without the rooms.
foreach(tool source draft rpcgen tame)
  if(TARGET heddle_${tool})
    heddle_host_tool_test(${tool})
  endif()
endforeach()

# The target `interop` builds the programs of others that tests talk to, as far as this machine can.
add_custom_target(interop)
set(interop_folder "${PROJECT_BINARY_DIR}/tests/interop")
find_program(HEDDLE_GO go)
mark_as_advanced(HEDDLE_GO)

# Programs that a room's tests run build themselves, with the CMakeLists.txt in its folder.
file(GLOB folders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt")
foreach(file IN LISTS folders)
  get_filename_component(folder "${file}" DIRECTORY)
  add_subdirectory("${folder}")
endforeach()

# The heddle program as its users run it: tests/cli/*_test.py against the built program.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*_test.py")
if(TARGET heddle_cli)
  if(NOT TARGET cli_test)
    add_custom_target(cli_test DEPENDS heddle_cli)  # what scripts/check builds for room cli
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(file "${source}" NAME)
    string(REGEX REPLACE "_test\\.py$" "" name "program_${file}")
    add_test(NAME ${name} COMMAND python3 -B -m unittest discover -s tests/cli
             -p "${file}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # A browser starts in one of them, and a busy machine makes that long.
    set_tests_properties(${name} PROPERTIES LABELS cli TIMEOUT 300 COST 10
      ENVIRONMENT "HEDDLE=$<TARGET_FILE:heddle_cli>;HEDDLE_PLAN_PROFILE=${HEDDLE_CLI_PROFILE}")
  endforeach()
endif()

include(headers)

if(NOT HEDDLE_SANITIZE)
  add_test(NAME package COMMAND "${PROJECT_SOURCE_DIR}/tests/package/run"
           "${PROJECT_BINARY_DIR}" "${CMAKE_CXX_COMPILER}" "${CMAKE_GENERATOR}")
  set_tests_properties(package PROPERTIES LABELS house TIMEOUT 240 COST 20)
endif()

# ctest runs two tests at once on two cores, but for those that keep several cores busy themselves.
function(heddle_alone)
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()
heddle_alone(soak sched)
foreach(room core sync io fiber)
  heddle_alone(${room}_on_2_workers ${room}_on_4_workers)
endforeach()

if(HEDDLE_HOUSE_TESTS)
  add_test(NAME tidy COMMAND "${PROJECT_SOURCE_DIR}/scripts/tidy")
  set_tests_properties(tidy PROPERTIES LABELS house TIMEOUT 120)
  # Those of `compilers` link the libraries of this build. The others need no build.
  foreach(folder house compilers)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.py")
    foreach(source IN LISTS sources)
      get_filename_component(file "${source}" NAME)
      string(REGEX REPLACE "_test\\.py$" "" name "${folder}_${file}")
      add_test(NAME ${name} COMMAND python3 -B -m unittest discover -s tests/${folder}
               -p "${file}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(${name} PROPERTIES LABELS house TIMEOUT 300 COST 5
                           ENVIRONMENT "HEDDLE_BUILD=${PROJECT_BINARY_DIR}")
      if(folder STREQUAL "compilers") # large programs at five levels with two compilers
        set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 130)
      endif()
    endforeach()
  endforeach()
  set(other_cxx g++-12)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(other_cxx clang++-19)
  endif()
  find_program(HEDDLE_OTHER_CXX "${other_cxx}")
  mark_as_advanced(HEDDLE_OTHER_CXX)
  foreach(part RANGE 1 4)
    add_test(NAME docs_${part} COMMAND "${PROJECT_SOURCE_DIR}/scripts/doc_blocks" --part ${part}/4
             --build "${PROJECT_BINARY_DIR}" --cxx "${CMAKE_CXX_COMPILER}")
    set_tests_properties(docs_${part} PROPERTIES LABELS house TIMEOUT 600 COST 40)
    # The other compiler must take them, too.
    if(HEDDLE_OTHER_CXX)
      add_test(NAME docs_other_compiler_${part} COMMAND "${PROJECT_SOURCE_DIR}/scripts/doc_blocks"
               --part ${part}/4 --build "${PROJECT_BINARY_DIR}" --no-run
               --cxx "${HEDDLE_OTHER_CXX}")
      set_tests_properties(docs_other_compiler_${part} PROPERTIES LABELS house TIMEOUT 600 COST 40)
    endif()
  endforeach()
endif()
