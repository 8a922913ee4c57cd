# SPDX-License-Identifier: MIT
# Room names, heddle::names: names to addresses by name servers, with c-ares for the messages. The
# room is always built: without c-ares it asks the system's resolver in the blocking pool.

set(CARES_FOUND OFF)
if(PkgConfig_FOUND AND NOT HEDDLE_CARES STREQUAL "OFF")
  # 1.18 is what Debian 12 has.
  pkg_check_modules(CARES QUIET IMPORTED_TARGET libcares>=1.18)
endif()
heddle_optional(HEDDLE_CARES CARES_FOUND
                "name servers asked by the driver (c-ares); names go through the blocking pool"
                HEDDLE_WITH_CARES)
if(HEDDLE_WITH_CARES)
  heddle_room(names LINKS heddle PkgConfig::CARES)
  target_compile_definitions(heddle_names INTERFACE HEDDLE_WITH_CARES=1)
  if(TARGET room_names)  # a copy of the tree may have no room names (scripts/mutate)
    target_compile_definitions(room_names PRIVATE HEDDLE_WITH_CARES=1)
  endif()
else()
  heddle_room(names LINKS heddle)
endif()
