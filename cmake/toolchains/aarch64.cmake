# SPDX-License-Identifier: MIT
# Compiles for 64-bit ARM with Debian's cross compiler: `scripts/setup cross` installs it, and
# scripts/cross checks it. Headers, libraries and packages come from HEDDLE_SYSROOT only, nothing
# from this machine; programs that build steps run are this machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(HEDDLE_SYSROOT /usr/aarch64-linux-gnu CACHE PATH "Headers and libraries of the target machine")

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)

set(CMAKE_FIND_ROOT_PATH "${HEDDLE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# pkg-config looks where it is told to, and nowhere else.
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR}
    "${HEDDLE_SYSROOT}/lib/pkgconfig:${HEDDLE_SYSROOT}/usr/lib/pkgconfig")
