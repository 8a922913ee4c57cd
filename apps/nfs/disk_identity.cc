// SPDX-License-Identifier: MIT
// File identities by raw system calls, which concern the calling thread alone.
#include "disk_identity.hh"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace nfs {
namespace {

constexpr int at_eaccess = 0x200;  // AT_EACCESS, for the system call itself

/// The supplementary groups that a thread has; the C library's setgroups() would set them for all.
struct thread_groups {
  bool known = false;
  std::vector<gid_t> groups;
};
thread_local thread_groups groups_here;

bool set_groups_here(const std::vector<std::uint32_t>& wanted) noexcept {
  thread_groups& now = groups_here;
  if (now.known && now.groups == wanted) return true;
  if (::syscall(SYS_setgroups, wanted.size(), wanted.data()) != 0) return false;
  try {
    now.groups = wanted;
    now.known = true;
  } catch (...) {
    now.known = false;
  }
  return true;
}

/// Sets and checks: setfsuid() and setfsgid() report no error.
bool set_file_ids(uid_t uid, gid_t gid) noexcept {
  ::setfsgid(gid);
  ::setfsuid(uid);
  return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))) == uid &&
         static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))) == gid;
}

}  // namespace

acting_as::acting_as(const identity& who) noexcept
    : own_uid_(::geteuid()),
      own_gid_(::getegid()),
      done_(set_groups_here(who.gids) && set_file_ids(who.uid, who.gid)) {}

acting_as::~acting_as() {
  ::setfsuid(own_uid_);
  ::setfsgid(own_gid_);
}

permissions permissions_here(int fd) noexcept {
  const auto may = [fd](int mode) {
    return ::syscall(SYS_faccessat2, fd, "", mode, at_eaccess | AT_EMPTY_PATH) == 0;
  };
  permissions p;
  p.read = may(R_OK);
  p.write = may(W_OK);
  p.execute = may(X_OK);
  return p;
}

void keep_no_reserves() noexcept {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &head, data) != 0) return;
  data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
  ::syscall(SYS_capset, &head, data);
}

}  // namespace nfs
