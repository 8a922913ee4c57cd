# SPDX-License-Identifier: MIT
# Room fiber, heddle::fiber: needs Boost.Context, and is left out without it together with its
# tests, benchmarks and the examples named fiber_*.

find_library(HEDDLE_BOOST_CONTEXT boost_context)
find_path(HEDDLE_BOOST_CONTEXT_INCLUDE boost/context/detail/fcontext.hpp)
mark_as_advanced(HEDDLE_BOOST_CONTEXT HEDDLE_BOOST_CONTEXT_INCLUDE)
set(HEDDLE_FIBER_FOUND OFF)
if(HEDDLE_BOOST_CONTEXT AND HEDDLE_BOOST_CONTEXT_INCLUDE)
  set(HEDDLE_FIBER_FOUND ON)
endif()
heddle_optional(HEDDLE_FIBER HEDDLE_FIBER_FOUND "fibers (Boost.Context)" HEDDLE_WITH_FIBER)
if(HEDDLE_WITH_FIBER)
  heddle_room(fiber LINKS heddle boost_context)
else()
  list(APPEND HEDDLE_ROOMS_LEFT_OUT fiber)
endif()
