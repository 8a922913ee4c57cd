# SPDX-License-Identifier: MIT
# What `cmake --install` leaves: headers, libraries, a CMake package and pkg-config files. The test
# `package` (tests/package/) builds programs outside the tree with both.

include(CMakePackageConfigHelpers)
set(HEDDLE_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/heddle" TYPE INCLUDE
        FILES_MATCHING PATTERN "*.hh" PATTERN "*.h")
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${HEDDLE_PACKAGE_DIR})

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in"
  "${PROJECT_BINARY_DIR}/package/heddle-config.cmake"
  INSTALL_DESTINATION ${HEDDLE_PACKAGE_DIR} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/package/heddle-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/heddle-config.cmake"
              "${PROJECT_BINARY_DIR}/package/heddle-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/optimize.cmake"
        DESTINATION ${HEDDLE_PACKAGE_DIR})

# Only static libraries are installed, so a user's link needs what they need: not "private".
set(HEDDLE_PC_REQUIRES)
if(HEDDLE_WITH_URING)
  set(HEDDLE_PC_REQUIRES "liburing >= 2.3")
endif()
set(HEDDLE_PC_CLIENT_TLS)
set(HEDDLE_PC_CARES)
if(HEDDLE_WITH_CARES)
  set(HEDDLE_PC_CARES ", libcares >= 1.18")
endif()
# The prefix is told from where the pc file lies, so that a moved installation still works.
file(RELATIVE_PATH HEDDLE_PC_PREFIX
     "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
# A room that has no sources yet is headers only: its pc file must not name an archive.
set(HEDDLE_PC_ROOMS heddle http web names client proxy bus optimizer tcp net)
if(HEDDLE_WITH_FIBER)
  list(APPEND HEDDLE_PC_ROOMS fiber)
endif()
if(HEDDLE_WITH_TLS)
  list(APPEND HEDDLE_PC_ROOMS tls acme)
  set(HEDDLE_PC_CLIENT_TLS ", heddle-tls = ${PROJECT_VERSION}")
endif()
foreach(name IN LISTS HEDDLE_PC_ROOMS)
  set(target heddle_${name})
  if(name STREQUAL "heddle")
    set(target heddle)
  endif()
  get_target_property(kind ${target} TYPE)
  set(HEDDLE_PC_LIB)
  if(kind STREQUAL "STATIC_LIBRARY")
    set(HEDDLE_PC_LIB "-L\${libdir} -l${target}")
  endif()
  string(REPLACE "_" "-" file ${target})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${file}.pc.in"
                 "${PROJECT_BINARY_DIR}/package/${file}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/${file}.pc"
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
