# SPDX-License-Identifier: MIT
# What `cmake --install` installs, in three components:
#   program   heddle and heddle-tame (also called tamer): each of them that was built
#   library   headers, libraries, a CMake package, pkg-config files: all of it or nothing
#   debug     debug information for gdb; only with --component debug
# Installed files carry no debug information unless HEDDLE_INSTALL_STRIP is off. install_steps.cmake
# holds what runs at install time. The test `package` (tests/package/) builds programs outside the
# tree with the installed ones.

include(CMakePackageConfigHelpers)
option(HEDDLE_INSTALL_STRIP "Install programs and libraries without debug information" ON)
set(HEDDLE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")
get_property(programs GLOBAL PROPERTY HEDDLE_PROGRAMS)
get_property(libraries GLOBAL PROPERTY HEDDLE_LIBRARIES)

set(strip "")
if(HEDDLE_INSTALL_STRIP)
  if(CMAKE_STRIP AND CMAKE_OBJCOPY)
    set(strip "${CMAKE_STRIP}")
  else()
    message(STATUS "heddle: installs with debug information (no strip and objcopy here)")
  endif()
endif()

# All that the component library needs.
add_custom_target(heddle_libraries)
add_dependencies(heddle_libraries ${libraries})

# The files of each kind, as the build makes them.
set(program_files)
set(archive_files)
set(shared_files)
foreach(target IN LISTS programs)
  list(APPEND program_files "$<TARGET_FILE:${target}>")
endforeach()
foreach(target IN LISTS libraries)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    list(APPEND archive_files "$<TARGET_FILE:${target}>")
  elseif(kind STREQUAL "SHARED_LIBRARY")
    list(APPEND shared_files "$<TARGET_FILE:${target}>")
  endif()
endforeach()

# First of all rules, whatever the component: decides what can be installed.
install(CODE "
set(HEDDLE_INSTALL_PROGRAMS \"${program_files}\")
set(HEDDLE_INSTALL_ARCHIVES \"${archive_files}\")
set(HEDDLE_INSTALL_SHARED \"${shared_files}\")
set(HEDDLE_INSTALL_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(HEDDLE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
set(HEDDLE_INSTALL_BUILD \"${PROJECT_BINARY_DIR}\")
set(HEDDLE_INSTALL_STRIP \"${strip}\")
set(HEDDLE_INSTALL_OBJCOPY \"${CMAKE_OBJCOPY}\")
set(HEDDLE_INSTALL_ALONE \"${PROJECT_IS_TOP_LEVEL}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install_steps.cmake\")
heddle_install_begin()" ALL_COMPONENTS)

# Programs bring the shared libraries that they need.
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program
          OPTIONAL)
endif()
if(shared_files)
  foreach(target IN LISTS libraries)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "SHARED_LIBRARY")
      install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program
              OPTIONAL NAMELINK_SKIP)
    endif()
  endforeach()
endif()
install(CODE "heddle_install_programs()" COMPONENT program)

install(TARGETS ${libraries} EXPORT heddle-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/heddle" TYPE INCLUDE COMPONENT library
        FILES_MATCHING PATTERN "*.hh" PATTERN "*.h" PATTERN base/compiler.hh EXCLUDE)
# Headers and library agree on how rare functions are called, whichever compiler reads the headers.
set(compiler_header "${PROJECT_SOURCE_DIR}/include/heddle/base/compiler.hh")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${compiler_header}")
file(READ "${compiler_header}" text)
if(BUILD_SHARED_LIBS OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  string(REPLACE "#pragma once\n" "#pragma once\n\n#define HEDDLE_PLAIN_CALLS 1\n" text "${text}")
endif()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/package/compiler.hh" CONTENT "${text}" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/compiler.hh" COMPONENT library
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle/base")
if(TARGET heddle_tamer)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tamer" TYPE INCLUDE COMPONENT library)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/libasync" TYPE INCLUDE COMPONENT library)
  install(FILES "${PROJECT_SOURCE_DIR}/include/tame.h" TYPE INCLUDE COMPONENT library)
endif()
install(CODE "heddle_install_libraries()" COMPONENT library)

# The CMake package. It names programs only where they are installed (heddle-config.cmake), so it is
# complete without them.
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${HEDDLE_PACKAGE_DIR}
        COMPONENT library)
set(HEDDLE_PC_SHARED OFF)
if(BUILD_SHARED_LIBS)
  set(HEDDLE_PC_SHARED ON)
endif()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/heddle-config.cmake"
  INSTALL_DESTINATION ${HEDDLE_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/package/heddle-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/heddle-config.cmake"
              "${PROJECT_BINARY_DIR}/package/heddle-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/optimize.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/HeddleDraft.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/HeddleRpcgen.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/HeddleTame.cmake"
        DESTINATION ${HEDDLE_PACKAGE_DIR} COMPONENT library)

# pkg-config files. A link with static libraries needs what they need; shared ones name it
# themselves, so it is private there.
set(HEDDLE_PC_NEEDS_heddle)
if(HEDDLE_WITH_URING)
  set(HEDDLE_PC_NEEDS_heddle "liburing >= 2.3")
endif()
set(HEDDLE_PC_NEEDS_http ${HEDDLE_PC_PACKERS})
set(HEDDLE_PC_NEEDS_names)
if(HEDDLE_WITH_CARES)
  set(HEDDLE_PC_NEEDS_names "libcares >= 1.18")
endif()
set(HEDDLE_PC_NEEDS_tls "openssl >= 3.0")
# The prefix is told from where the pc file lies, so that a moved installation still works.
file(RELATIVE_PATH HEDDLE_PC_PREFIX
     "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
set(HEDDLE_PC_ROOMS heddle http fakes web names client proxy bus nats optimizer tcp net xdr rpc)
if(HEDDLE_WITH_FIBER)
  list(APPEND HEDDLE_PC_ROOMS fiber)
endif()
if(TARGET heddle_tamer)
  list(APPEND HEDDLE_PC_ROOMS tamer)
endif()
set(HEDDLE_PC_CLIENT_TLS)
if(HEDDLE_WITH_TLS)
  list(APPEND HEDDLE_PC_ROOMS tls acme)
  set(HEDDLE_PC_CLIENT_TLS ", heddle-tls = ${PROJECT_VERSION}")
endif()
if(BUILD_SHARED_LIBS AND HEDDLE_FIBER_PC_LIBS)
  string(PREPEND HEDDLE_FIBER_PC_LIBS "\nLibs.private: ")
endif()
foreach(name IN LISTS HEDDLE_PC_ROOMS)
  set(target heddle_${name})
  if(name STREQUAL "heddle")
    set(target heddle)
  endif()
  get_target_property(kind ${target} TYPE)
  set(HEDDLE_PC_LIB)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")  # that of a room without sources yet
    set(HEDDLE_PC_LIB "-L\${libdir} -l${target}")
  endif()
  list(JOIN HEDDLE_PC_NEEDS_${name} ", " HEDDLE_PC_NEEDS)
  if(HEDDLE_PC_NEEDS AND BUILD_SHARED_LIBS)
    string(PREPEND HEDDLE_PC_NEEDS "\nRequires.private: ")
  elseif(HEDDLE_PC_NEEDS AND NOT name STREQUAL "heddle")
    string(PREPEND HEDDLE_PC_NEEDS ", ")
  endif()
  string(REPLACE "_" "-" file ${target})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${file}.pc.in"
                 "${PROJECT_BINARY_DIR}/package/${file}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${file}.pc"
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endforeach()

install(CODE "heddle_install_debug()" COMPONENT debug EXCLUDE_FROM_ALL)
install(CODE "heddle_install_end()" ALL_COMPONENTS)
