// SPDX-License-Identifier: MIT
// Error numbers of Linux as statuses of NFS: the numbers differ (ENOTEMPTY is 39 there and 66
// here).
#pragma once

#include "volume.hh"

namespace nfs {

/// The status for an errno; IO for what NFS has no word for.
[[nodiscard]] nfsstat3 status_of_errno(int error) noexcept;

}  // namespace nfs
