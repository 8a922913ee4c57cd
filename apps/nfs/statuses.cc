// SPDX-License-Identifier: MIT
// The statuses that RFC 1813 lists for each procedure, and the nearest listed one for those that it
// does not list.
#include "statuses.hh"

#include <initializer_list>

namespace nfs {
namespace {

using enum nfs3::nfsstat3;
using status_list = std::initializer_list<nfsstat3>;

// By the number of the procedure.
const status_list listed_by_procedure[22] = {
    {},
    {},  // GETATTR
    {NFS3ERR_PERM, NFS3ERR_INVAL, NFS3ERR_FBIG, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_DQUOT,
     NFS3ERR_NOT_SYNC, NFS3ERR_NOTSUPP},                                        // SETATTR
    {NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG, NFS3ERR_INVAL},        // LOOKUP
    {},                                                                         // ACCESS
    {NFS3ERR_INVAL, NFS3ERR_NOTSUPP},                                           // READLINK
    {NFS3ERR_NXIO, NFS3ERR_INVAL},                                              // READ
    {NFS3ERR_FBIG, NFS3ERR_DQUOT, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_INVAL},  // WRITE
    {NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT,
     NFS3ERR_NOTSUPP, NFS3ERR_INVAL},  // CREATE
    {NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT,
     NFS3ERR_NOTSUPP, NFS3ERR_INVAL, NFS3ERR_MLINK},  // MKDIR
    {NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT,
     NFS3ERR_NOTSUPP, NFS3ERR_INVAL},  // SYMLINK
    {NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT,
     NFS3ERR_NOTSUPP, NFS3ERR_BADTYPE, NFS3ERR_INVAL},  // MKNOD
    {NFS3ERR_NOENT, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG, NFS3ERR_ROFS, NFS3ERR_INVAL,
     NFS3ERR_ISDIR},  // REMOVE
    {NFS3ERR_NOENT, NFS3ERR_INVAL, NFS3ERR_EXIST, NFS3ERR_NOTDIR, NFS3ERR_NAMETOOLONG, NFS3ERR_ROFS,
     NFS3ERR_NOTEMPTY, NFS3ERR_NOTSUPP},  // RMDIR
    {NFS3ERR_NOENT, NFS3ERR_EXIST, NFS3ERR_XDEV, NFS3ERR_NOTDIR, NFS3ERR_ISDIR, NFS3ERR_INVAL,
     NFS3ERR_NOSPC, NFS3ERR_ROFS, NFS3ERR_MLINK, NFS3ERR_NAMETOOLONG, NFS3ERR_NOTEMPTY,
     NFS3ERR_DQUOT, NFS3ERR_NOTSUPP},  // RENAME
    {NFS3ERR_EXIST, NFS3ERR_XDEV, NFS3ERR_NOTDIR, NFS3ERR_INVAL, NFS3ERR_NOSPC, NFS3ERR_ROFS,
     NFS3ERR_MLINK, NFS3ERR_NAMETOOLONG, NFS3ERR_DQUOT, NFS3ERR_NOTSUPP},     // LINK
    {NFS3ERR_NOTDIR, NFS3ERR_BAD_COOKIE, NFS3ERR_TOOSMALL},                   // READDIR
    {NFS3ERR_NOTDIR, NFS3ERR_BAD_COOKIE, NFS3ERR_TOOSMALL, NFS3ERR_NOTSUPP},  // READDIRPLUS
    {},
    {},
    {},
    {},  // FSSTAT, FSINFO, PATHCONF, COMMIT
};

bool has(const status_list& l, nfsstat3 s) noexcept {
  for (const nfsstat3 each : l)
    if (each == s) return true;
  return false;
}

/// A status that says nearly the same as one that is not listed.
nfsstat3 nearest(nfsstat3 s) noexcept {
  switch (s) {
    case NFS3ERR_PERM:
      return NFS3ERR_ACCES;
    case NFS3ERR_ISDIR:
    case NFS3ERR_NOTDIR:
      return NFS3ERR_INVAL;
    case NFS3ERR_MLINK:
    case NFS3ERR_DQUOT:
      return NFS3ERR_NOSPC;
    default:
      return NFS3ERR_IO;
  }
}

}  // namespace

nfsstat3 listed_status(std::uint32_t procedure, nfsstat3 s) noexcept {
  static constexpr nfsstat3 of_all[] = {NFS3_OK,        NFS3ERR_IO,        NFS3ERR_ACCES,
                                        NFS3ERR_STALE,  NFS3ERR_BADHANDLE, NFS3ERR_SERVERFAULT,
                                        NFS3ERR_JUKEBOX};
  for (const nfsstat3 each : of_all)
    if (each == s) return s;
  if (procedure >= std::size(listed_by_procedure)) return NFS3ERR_IO;
  const status_list& its = listed_by_procedure[procedure];
  if (has(its, s)) return s;
  const nfsstat3 other = nearest(s);
  return other == NFS3ERR_ACCES || has(its, other) ? other : NFS3ERR_IO;
}

}  // namespace nfs
