# SPDX-License-Identifier: MIT
# Each apps/<name>/ is a program of several files, at <build>/apps/<name>: main.cc, and the rest as
# a library heddle_app_<name>, so that tests/apps/ can link it. An app may need what the rooms do
# not; where that is missing it is left out, which is said.

find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)
set(sealed_possible OFF)
if(OPENSSL_FOUND AND CLI11_FOUND)
  set(sealed_possible ON)
endif()
heddle_optional(HEDDLE_SEALED sealed_possible "apps/sealed, apps/seccomm (OpenSSL 3, CLI11)"
                HEDDLE_WITH_SEALED)

function(heddle_app name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/${name}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  add_library(heddle_app_${name} STATIC ${sources})
  target_include_directories(heddle_app_${name} PUBLIC "${PROJECT_SOURCE_DIR}/apps/${name}")
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/apps/${name}/dispatch")  # the program's bus
    target_include_directories(heddle_app_${name} PUBLIC
      "${PROJECT_SOURCE_DIR}/apps/${name}/dispatch")
  endif()
  # An app sees what a user sees: the public headers, and the warnings that we promise.
  target_compile_options(heddle_app_${name} PRIVATE -Wall -Wextra
    $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  target_link_libraries(heddle_app_${name} PUBLIC heddle ${ARGN})
  heddle_pieces(heddle_app_${name})
  heddle_precompiled(heddle_app_${name})
  add_executable(app_${name} "${PROJECT_SOURCE_DIR}/apps/${name}/main.cc")
  set_target_properties(app_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/apps")
  target_compile_options(app_${name} PRIVATE -Wall -Wextra $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  target_link_libraries(app_${name} PRIVATE heddle_app_${name} CLI11::CLI11)
endfunction()

if(HEDDLE_WITH_SEALED)
  heddle_app(sealed OpenSSL::Crypto)
  heddle_app(seccomm heddle_bus OpenSSL::Crypto)
endif()

if(CLI11_FOUND)
  heddle_app(player heddle_bus)
  heddle_app(nfs heddle_rpc)
  heddle_rpcgen(heddle_app_nfs "${PROJECT_SOURCE_DIR}/apps/nfs/nfs3.x"
                "${PROJECT_SOURCE_DIR}/apps/nfs/mount3.x")
  # Three of its procedures by callbacks, to be compared and tested; the program has none of them.
  add_library(heddle_app_nfs_callbacks STATIC
    "${PROJECT_SOURCE_DIR}/apps/nfs/callbacks/callback_procedures.cc")
  target_compile_options(heddle_app_nfs_callbacks PRIVATE -Wall -Wextra
    $<$<BOOL:${HEDDLE_WERROR}>:-Werror>)
  target_link_libraries(heddle_app_nfs_callbacks PUBLIC heddle_app_nfs)
endif()

if(CLI11_FOUND AND PkgConfig_FOUND)
  pkg_check_modules(XCB QUIET IMPORTED_TARGET xcb)
  if(XCB_FOUND)
    heddle_app(xclient heddle_bus PkgConfig::XCB)
  else()
    message(STATUS "heddle: without apps/xclient (libxcb; scripts/setup installs it)")
  endif()
endif()
