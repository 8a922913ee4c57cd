// SPDX-License-Identifier: MIT
// Identities in threads: a thread of the pool works with the rights of the caller, so that the
// kernel checks every permission.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "volume.hh"

namespace nfs {

/// While it lives, this thread accesses files as that user with those groups. Afterwards it is
/// itself again; only the supplementary groups stay, which this class alone uses: other work of the
/// pool runs as the server, whose rights they do not change.
///
/// Thread: a thread of the pool; one at a time.
class acting_as {
 public:
  explicit acting_as(const identity& who) noexcept;
  acting_as(const acting_as&) = delete;
  acting_as& operator=(const acting_as&) = delete;
  ~acting_as();

  /// Whether the thread could become that user: the server needs CAP_SETUID and CAP_SETGID.
  [[nodiscard]] explicit operator bool() const noexcept { return done_; }

 private:
  uid_t own_uid_;
  gid_t own_gid_;
  bool done_;
};

/// What an identity may do with an object, by the kernel's rules.
struct permissions {
  bool read = false;
  bool write = false;
  bool execute = false;  ///< of a directory: search
};

/// Asks the kernel for an open object, in the name of the thread's present identity.
[[nodiscard]] permissions permissions_here(int fd) noexcept;

/// Drops the capability CAP_SYS_RESOURCE of this thread and of the threads that it starts later. A
/// process with this capability writes into disk blocks reserved for root, and beyond quotas.
void keep_no_reserves() noexcept;

}  // namespace nfs
