// SPDX-License-Identifier: MIT
// The statuses that a procedure may answer (RFC 1813, section 3.3: each procedure's list).
#pragma once

#include <cstdint>

#include "volume.hh"

namespace nfs {

/// The status as a procedure may give it. One that the RFC does not list for the procedure becomes
/// a listed one that says nearly the same (PERM becomes ACCES, ISDIR of READ becomes INVAL), or IO.
///
/// Listed for all: IO, ACCES, STALE, BADHANDLE, SERVERFAULT, JUKEBOX; ACCES also tells a caller
/// that an export's rules refuse. Beyond the RFC's lists, as clients expect it: INVAL of procedures
/// that take a name, for what is no name; ISDIR of REMOVE, MLINK of MKDIR, and FBIG of SETATTR.
[[nodiscard]] nfsstat3 listed_status(std::uint32_t procedure, nfsstat3 s) noexcept;

}  // namespace nfs
