# SPDX-License-Identifier: MIT
# Room fiber, heddle::fiber. On x86-64 it switches stacks itself. Elsewhere, or where
# HEDDLE_FIBER_BOOST is on, it needs Boost.Context, and is left out without it together with its
# tests, its benchmarks and the examples named fiber_*.

set(fiber_links heddle)
set(fiber_possible ON)
if(HEDDLE_FIBER_BOOST OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  find_library(HEDDLE_BOOST_CONTEXT boost_context)
  find_path(HEDDLE_BOOST_CONTEXT_INCLUDE boost/context/detail/fcontext.hpp)
  mark_as_advanced(HEDDLE_BOOST_CONTEXT HEDDLE_BOOST_CONTEXT_INCLUDE)
  if(HEDDLE_BOOST_CONTEXT AND HEDDLE_BOOST_CONTEXT_INCLUDE)
    list(APPEND fiber_links boost_context)
    set(HEDDLE_FIBER_PC_LIBS -lboost_context)
  else()
    set(fiber_possible OFF)
  endif()
endif()
heddle_optional(HEDDLE_FIBER fiber_possible "fibers (Boost.Context)" HEDDLE_WITH_FIBER)
if(HEDDLE_WITH_FIBER)
  heddle_room(fiber LINKS ${fiber_links})
  if(HEDDLE_FIBER_BOOST)
    target_compile_definitions(heddle_fiber PUBLIC HEDDLE_FIBER_BOOST=1)
    set(HEDDLE_FIBER_PC_CFLAGS -DHEDDLE_FIBER_BOOST=1)
  endif()

  # heddle::hook replaces blocking calls of the C library in programs that link it. The linker is
  # told to take each of its files, because nothing else names them. It is always static: the calls
  # must be defined in the program itself, whose names come before those of all its libraries.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/fiber/hook/*.cc")
  add_library(heddle_hook STATIC ${sources})
  add_library(heddle::hook ALIAS heddle_hook)
  set_target_properties(heddle_hook PROPERTIES EXPORT_NAME hook)
  # With it, the C library's headers would define some of these calls themselves.
  target_compile_options(heddle_hook PRIVATE -U_FORTIFY_SOURCE)
  target_link_libraries(heddle_hook PRIVATE $<BUILD_INTERFACE:heddle_inside>
                        PUBLIC heddle_fiber ${CMAKE_DL_LIBS})
  foreach(part transfer poll time)
    target_link_options(heddle_hook INTERFACE "LINKER:-u,heddle_hook_${part}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES heddle_hook)
else()
  list(APPEND HEDDLE_ROOMS_LEFT_OUT fiber hook)
endif()
