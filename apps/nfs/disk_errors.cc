// SPDX-License-Identifier: MIT
// The one table from errno to statuses.
#include "disk_errors.hh"

#include <cerrno>

namespace nfs {

nfsstat3 status_of_errno(int error) noexcept {
  using enum nfsstat3;
  struct row {
    int error;
    nfsstat3 status;
  };
  static constexpr row table[] = {
      {0, NFS3_OK},
      {EPERM, NFS3ERR_PERM},
      {ENOENT, NFS3ERR_NOENT},
      {EIO, NFS3ERR_IO},
      {ENXIO, NFS3ERR_NXIO},
      {EACCES, NFS3ERR_ACCES},
      {EEXIST, NFS3ERR_EXIST},
      {EXDEV, NFS3ERR_XDEV},
      {ENODEV, NFS3ERR_NODEV},
      {ENOTDIR, NFS3ERR_NOTDIR},
      {EISDIR, NFS3ERR_ISDIR},
      {EINVAL, NFS3ERR_INVAL},
      {EFBIG, NFS3ERR_FBIG},
      {EOVERFLOW, NFS3ERR_FBIG},
      {ENOSPC, NFS3ERR_NOSPC},
      {EROFS, NFS3ERR_ROFS},
      {EMLINK, NFS3ERR_MLINK},
      {ENAMETOOLONG, NFS3ERR_NAMETOOLONG},
      {ENOTEMPTY, NFS3ERR_NOTEMPTY},
      {EDQUOT, NFS3ERR_DQUOT},
      {ESTALE, NFS3ERR_STALE},
      {EOPNOTSUPP, NFS3ERR_NOTSUPP},
      {ENOSYS, NFS3ERR_NOTSUPP},
      {EBUSY, NFS3ERR_ACCES},    // a mount point
      {ELOOP, NFS3ERR_ACCES},    // a link where none is followed
      {ETXTBSY, NFS3ERR_ACCES},  // a program that runs on the server
      {EAGAIN, NFS3ERR_JUKEBOX},
      {EINTR, NFS3ERR_JUKEBOX},
      {ENOMEM, NFS3ERR_JUKEBOX},
      {EMFILE, NFS3ERR_JUKEBOX},
      {ENFILE, NFS3ERR_JUKEBOX},
  };
  for (const row& each : table)
    if (each.error == error) return each.status;
  return NFS3ERR_IO;
}

}  // namespace nfs
