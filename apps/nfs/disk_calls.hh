// SPDX-License-Identifier: MIT
// The system calls behind disk_volume, on open descriptors. They may block, unless they say
// otherwise, so they run in threads of the pool; the failures are statuses already.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "disk_errors.hh"
#include "disk_identity.hh"
#include "handles.hh"
#include "volume.hh"

namespace nfs {

using file_stat = struct stat;

/// The failure of the last system call of this thread.
[[nodiscard]] std::unexpected<nfsstat3> last_failure() noexcept;
/// Whether this process, or the system, has no descriptor left. Does not wait.
[[nodiscard]] bool descriptors_are_short() noexcept;

/// A descriptor that is closed with its last owner. Thread: any.
class open_fd {
 public:
  enum class use { path, read, write };  ///< each can do what those before can
  open_fd(int number, use for_what) noexcept : number_(number), for_(for_what) {}
  open_fd(const open_fd&) = delete;
  open_fd& operator=(const open_fd&) = delete;
  ~open_fd();

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] use for_what() const noexcept { return for_; }

 private:
  int number_;
  use for_;
};
using open_ptr = std::shared_ptr<const open_fd>;

/// An exported directory; never changed after the start. Thread: any.
struct export_root {
  std::string path;
  std::uint8_t number = 0;  ///< in handles
  open_ptr fd;
  std::uint64_t device = 0;  ///< with `inode`: the directory
  std::uint64_t inode = 0;
  std::uint64_t fsid = 0;  ///< as clients see it
  bool remote = false;     ///< every call may wait: FUSE and network file systems
  handle root;
  const handle_seal* seal = nullptr;
};

[[nodiscard]] inline nfs3::nfstime3 time_of(const timespec& t) noexcept {
  return {static_cast<std::uint32_t>(t.tv_sec), static_cast<std::uint32_t>(t.tv_nsec)};
}
[[nodiscard]] nfs3::fattr3 attributes_of(const file_stat& st, const export_root& in) noexcept;
[[nodiscard]] nfs3::wcc_attr before_of(const file_stat& st) noexcept;

/// The status of an open object; STALE if its last name is gone. Waits on remote file systems only.
[[nodiscard]] outcome<file_stat> stat_of(int fd) noexcept;

/// Opens the object of a handle with the server's rights.
[[nodiscard]] outcome<open_ptr> open_handle(const export_root& in, const handle_parts& parts,
                                            open_fd::use for_what);
/// The handle of an open object.
[[nodiscard]] outcome<handle> handle_of(int fd, const export_root& in);
/// Handle and attributes of an open object.
[[nodiscard]] outcome<found> found_at(int fd, const export_root& in);

/// How entries of a directory are opened.
struct entry_open {
  std::uint64_t flags = 0;  ///< O_...; O_CLOEXEC and O_NOFOLLOW are added
  std::uint32_t mode = 0;
  bool cached = false;  ///< EAGAIN instead of waiting for a disk
};
/// A new descriptor of an entry in the same mount, or -1 with errno; no link is followed.
[[nodiscard]] int open_entry(int dir, const std::string& name, const entry_open& how) noexcept;

/// An entry's object, found with the rights of the thread's identity. With `cached` it does not
/// wait, and gives JUKEBOX where it would have to.
[[nodiscard]] outcome<found> find_entry(int dir, const std::string& name, const export_root& in,
                                        bool cached);

/// What a call in the pool needs of an object, and what it finds out for it: another descriptor,
/// and the permissions of the caller.
struct borrowed {
  const export_root& in;
  const handle& own;
  open_ptr fd;
  std::optional<permissions> may;  ///< of the caller, while the ctime is that
  timespec ctime{};
  bool learned = false;  ///< `may` is new, and may be kept

  /// Replaces the descriptor unless it can be used so.
  [[nodiscard]] outcome<void> reopen(open_fd::use for_what);
  /// The caller's permissions, asked from the kernel unless they are known.
  [[nodiscard]] outcome<permissions> permitted(const identity& who, const file_stat& st);
};

[[nodiscard]] inline bool same_time(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Writes bytes of a file to disk.
[[nodiscard]] outcome<void> sync_fd(const export_root& in, const open_fd& fd) noexcept;

}  // namespace nfs
