// SPDX-License-Identifier: MIT
// Permissions by mode bits, decided as Linux does it, for storage whose callers the kernel does not
// know.
#pragma once

#include <cstdint>

#include "volume.hh"

namespace nfs {

/// The three permissions of a class of users, as in the last digit of a mode.
inline constexpr std::uint32_t may_execute = 1, may_write = 2, may_read = 4;

inline constexpr std::uint32_t set_user_bit = 04000, set_group_bit = 02000, sticky_bit = 01000;

/// The attributes of an object that decide about permissions.
struct ownership {
  std::uint32_t mode = 0;  ///< the twelve bits that chmod changes
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool directory = false;
};

/// Whether the caller belongs to the group.
[[nodiscard]] bool is_in_group(const identity& who, std::uint32_t gid) noexcept;
/// Whether the caller has all the wanted permissions. Root has all, but executes a file only if
/// somebody may.
[[nodiscard]] bool is_allowed(const ownership& of, const identity& who,
                              std::uint32_t wanted) noexcept;
/// Whether the caller may read (or write) bytes of the file. The owner always may, because on the
/// caller's machine the file can be open since before a chmod; and what may be executed may be
/// read, because a page of a program is fetched by READ (RFC 1813, 4.4).
[[nodiscard]] bool is_transfer_allowed(const ownership& of, const identity& who,
                                       bool writes) noexcept;
/// Whether the caller may take this entry out of the directory, as far as the sticky bit goes.
[[nodiscard]] bool is_removal_allowed(const ownership& dir, const ownership& entry,
                                      const identity& who) noexcept;

}  // namespace nfs
