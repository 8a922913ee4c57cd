// SPDX-License-Identifier: MIT
// Setting attributes, in a thread of the pool and with the identity that it has.
#pragma once

#include "disk_calls.hh"

namespace nfs {

/// Sets owner, mode and times as far as they are given, in this order, because a change of owner
/// takes mode bits away. `fd` may be of any kind, and is no file's size.
[[nodiscard]] outcome<void> set_attributes(int fd, const file_stat& st, const nfs3::sattr3& to);

/// As set_attributes(), for an object that was just made with its mode. Only root may make another
/// user its owner; for other callers the owner stays as it is, without a failure, because clients
/// always send the ids of the user.
[[nodiscard]] outcome<void> set_attributes_of_new(int fd, const nfs3::sattr3& to);

/// The bits of the mode of a new object.
[[nodiscard]] inline std::uint32_t mode_of_new(const nfs3::sattr3& with,
                                               std::uint32_t otherwise) noexcept {
  return with.mode.value_or(otherwise) & 07777;
}

}  // namespace nfs
