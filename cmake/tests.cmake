# SPDX-License-Identifier: MIT
# One test program a room: tests/<room>/*_test.cc (and *.c) with tests/support/*.cc, registered as
# one ctest entry named after the room. Beside them: every public header compiled alone (target
# `headers`), the installed package, and, where HEDDLE_HOUSE_TESTS is on, tidy, the docs and the
# benchmarks' apparatus.

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

# What all test programs have, and the precompiled headers that they share.
file(WRITE "${PROJECT_BINARY_DIR}/test_support.cc" "")
add_library(test_support OBJECT "${PROJECT_BINARY_DIR}/test_support.cc")
target_link_libraries(test_support PUBLIC heddle_inside heddle_rooms GTest::gtest)
target_include_directories(test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_compile_definitions(test_support PUBLIC
  HEDDLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HEDDLE_BUILD_DIR="${PROJECT_BINARY_DIR}")
# GoogleTest's checks are if-else statements; `if (a) EXPECT_EQ(...)` is no mistake.
# Precompiled as the code of a program, which it becomes part of.
set_target_properties(test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(test_support PUBLIC -Wno-dangling-else -fPIE)
heddle_precompile(test_support
  <gtest/gtest.h> <heddle/heddle.hh> "${PROJECT_SOURCE_DIR}/tests/support/drivers.hh")

# A test that wants a diagnostic takes it from the runtime's hook; one on stderr is a false alarm.
# Left out are those that a slow machine makes true: slow-handler, blocking-pile-up.
string(CONCAT false_alarm
  "heddle: (abandoned-event|double-trigger|two-waiters|leftover-events|unhandled-exception|"
  "leaked-memory|freed-twice|wrong-color): ")

# Rooms of the house, then what is tested across rooms; a soak may take its time.
set(test_rooms base probe core sched io fiber hook sync
     tls tcp http bus draft tame cli examples soak)
list(REMOVE_ITEM test_rooms ${HEDDLE_ROOMS_LEFT_OUT})
foreach(room IN LISTS test_rooms)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cc"
       "${PROJECT_SOURCE_DIR}/tests/${room}/*.c")
  if(NOT sources)
    continue()
  endif()
  add_executable(${room}_test ${sources})
  set_target_properties(${room}_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(${room}_test PRIVATE test_support GTest::gtest_main)
  if(NOT room STREQUAL "hook")  # whose files have names in common
    heddle_unity(${room}_test)
  endif()
  file(GLOB c_sources "${PROJECT_SOURCE_DIR}/tests/${room}/*.c")
  set_source_files_properties(${c_sources} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  if(HEDDLE_PRECOMPILE)
    target_precompile_headers(${room}_test REUSE_FROM test_support)
  endif()
  if(room STREQUAL "hook")
    target_link_libraries(${room}_test PRIVATE heddle::hook)
    # Libraries that know nothing of us, against servers that the tests start.
    find_library(HEDDLE_PQ pq)
    find_path(HEDDLE_PQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql)
    find_library(HEDDLE_CURL curl)
    find_path(HEDDLE_CURL_INCLUDE curl/curl.h)
    foreach(library PQ CURL)
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
  add_test(NAME ${room} COMMAND ${room}_test --gtest_brief=1)
  set_tests_properties(${room} PROPERTIES LABELS "${room}" TIMEOUT ${test_timeout_s}
                       FAIL_REGULAR_EXPRESSION "${false_alarm}")
  if(room STREQUAL "soak")
    set_tests_properties(${room} PROPERTIES TIMEOUT 600)
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

# Programs that a room's tests run build themselves, with the CMakeLists.txt in its folder.
file(GLOB folders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt")
foreach(file IN LISTS folders)
  get_filename_component(folder "${file}" DIRECTORY)
  add_subdirectory("${folder}")
endforeach()

# The heddle program as its users run it: tests/cli/*_test.py against the built program.
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*_test.py")
if(sources AND TARGET heddle_cli)
  add_test(NAME program COMMAND python3 -B -m unittest discover -s tests/cli -p "*_test.py"
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  # A browser starts in it, and a busy machine makes that long.
  set_tests_properties(program PROPERTIES LABELS cli TIMEOUT 300
    ENVIRONMENT "HEDDLE=$<TARGET_FILE:heddle_cli>;HEDDLE_PLAN_PROFILE=${HEDDLE_CLI_PROFILE}")
endif()

include(headers)

if(NOT HEDDLE_SANITIZE)
  add_test(NAME package COMMAND "${PROJECT_SOURCE_DIR}/tests/package/run"
           "${PROJECT_BINARY_DIR}" "${CMAKE_CXX_COMPILER}" "${CMAKE_GENERATOR}")
  set_tests_properties(package PROPERTIES LABELS house TIMEOUT 120)
endif()

# ctest runs two tests at once on two cores, but for those that keep several cores busy themselves.
function(heddle_alone)
  foreach(test IN LISTS ARGN)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES PROCESSORS 2)
    endif()
  endforeach()
endfunction()
heddle_alone(program soak sched)
foreach(room core sync io fiber)
  heddle_alone(${room}_on_2_workers ${room}_on_4_workers)
endforeach()

if(HEDDLE_HOUSE_TESTS)
  add_test(NAME tidy COMMAND "${PROJECT_SOURCE_DIR}/scripts/tidy")
  add_test(NAME house COMMAND python3 -B -m unittest discover -s tests/house -p "*_test.py"
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  add_test(NAME docs COMMAND "${PROJECT_SOURCE_DIR}/scripts/doc_blocks"
           --build "${PROJECT_BINARY_DIR}" --cxx "${CMAKE_CXX_COMPILER}")
  set_tests_properties(tidy house docs PROPERTIES LABELS house TIMEOUT 600)
endif()
