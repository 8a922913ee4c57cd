// SPDX-License-Identifier: MIT
// The decisions of Linux by mode bits (generic_permission, may_delete), and those of NFS servers.
#include "permission.hh"

#include <algorithm>

namespace nfs {

bool is_in_group(const identity& who, std::uint32_t gid) noexcept {
  return who.gid == gid || std::find(who.gids.begin(), who.gids.end(), gid) != who.gids.end();
}

bool is_allowed(const ownership& of, const identity& who, std::uint32_t wanted) noexcept {
  if (who.uid == 0) return of.directory || (wanted & may_execute) == 0 || (of.mode & 0111) != 0;
  // Exactly one class counts: an owner without a permission does not get it as one of the others.
  std::uint32_t bits = of.mode;
  if (who.uid == of.uid)
    bits >>= 6;
  else if (is_in_group(who, of.gid))
    bits >>= 3;
  return (bits & wanted) == wanted;
}

bool is_transfer_allowed(const ownership& of, const identity& who, bool writes) noexcept {
  if (who.uid == of.uid) return true;
  if (writes) return is_allowed(of, who, may_write);
  return is_allowed(of, who, may_read) || is_allowed(of, who, may_execute);
}

bool is_removal_allowed(const ownership& dir, const ownership& entry,
                        const identity& who) noexcept {
  return (dir.mode & sticky_bit) == 0 || who.uid == 0 || who.uid == dir.uid || who.uid == entry.uid;
}

}  // namespace nfs
