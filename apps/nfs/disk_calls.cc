// SPDX-License-Identifier: MIT
// System calls on descriptors, handles and entries, for disk_volume.
#include "disk_calls.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace nfs {
namespace {

/// A handle of the kernel, with room for the longest.
struct kernel_handle {
  kernel_handle() noexcept { head()->handle_bytes = MAX_HANDLE_SZ; }
  ::file_handle* head() noexcept { return reinterpret_cast<::file_handle*>(room); }
  alignas(::file_handle) char room[sizeof(::file_handle) + MAX_HANDLE_SZ];
};

nfs3::ftype3 type_of(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return nfs3::ftype3::NF3DIR;
    case S_IFBLK:
      return nfs3::ftype3::NF3BLK;
    case S_IFCHR:
      return nfs3::ftype3::NF3CHR;
    case S_IFLNK:
      return nfs3::ftype3::NF3LNK;
    case S_IFSOCK:
      return nfs3::ftype3::NF3SOCK;
    case S_IFIFO:
      return nfs3::ftype3::NF3FIFO;
    default:
      return nfs3::ftype3::NF3REG;
  }
}

/// Whether a change made from now on could leave the ctime as it is: file systems may count time
/// in ticks.
bool may_change_unseen(const timespec& ctime) noexcept {
  constexpr std::int64_t tick_ns_max = 20'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t seconds = now.tv_sec - ctime.tv_sec;
  if (seconds > 1) return false;
  return seconds * 1'000'000'000 + (now.tv_nsec - ctime.tv_nsec) < tick_ns_max;
}

}  // namespace

std::unexpected<nfsstat3> last_failure() noexcept {
  return std::unexpected(status_of_errno(errno));
}

bool descriptors_are_short() noexcept {
  const open_fd one(::open("/", O_PATH | O_CLOEXEC), open_fd::use::path);
  return one.number() < 0 && (errno == EMFILE || errno == ENFILE);
}

open_fd::~open_fd() {
  if (number_ >= 0) ::close(number_);
}

nfs3::fattr3 attributes_of(const file_stat& st, const export_root& in) noexcept {
  nfs3::fattr3 a;
  a.type = type_of(st.st_mode);
  a.mode = st.st_mode & 07777;
  a.nlink = static_cast<std::uint32_t>(st.st_nlink);
  a.uid = st.st_uid;
  a.gid = st.st_gid;
  a.size = static_cast<std::uint64_t>(st.st_size);
  a.used = static_cast<std::uint64_t>(st.st_blocks) * 512;
  a.rdev = {major(st.st_rdev), minor(st.st_rdev)};
  a.fsid = in.fsid;
  a.fileid = st.st_ino;
  a.atime = time_of(st.st_atim);
  a.mtime = time_of(st.st_mtim);
  a.ctime = time_of(st.st_ctim);
  return a;
}

nfs3::wcc_attr before_of(const file_stat& st) noexcept {
  return {static_cast<std::uint64_t>(st.st_size), time_of(st.st_mtim), time_of(st.st_ctim)};
}

outcome<file_stat> stat_of(int fd) noexcept {
  file_stat st{};
  if (::fstat(fd, &st) != 0) return last_failure();
  if (st.st_nlink == 0) return std::unexpected(nfsstat3::NFS3ERR_STALE);
  return st;
}

outcome<open_ptr> open_handle(const export_root& in, const handle_parts& parts,
                              open_fd::use for_what) {
  kernel_handle h;
  h.head()->handle_bytes = static_cast<unsigned>(parts.kernel.size());
  h.head()->handle_type = parts.type;
  std::memcpy(h.head()->f_handle, parts.kernel.data(), parts.kernel.size());
  int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  switch (for_what) {
    case open_fd::use::path:
      flags |= O_PATH;
      break;
    case open_fd::use::read:
      flags |= O_RDONLY;
      break;
    case open_fd::use::write:
      flags |= O_RDWR;
      break;
  }
  const int fd = ::open_by_handle_at(in.fd->number(), h.head(), flags);
  if (fd < 0) return last_failure();
  return std::make_shared<const open_fd>(fd, for_what);
}

outcome<handle> handle_of(int fd, const export_root& in) {
  kernel_handle h;
  int mount_id = 0;
  if (::name_to_handle_at(fd, "", h.head(), &mount_id, AT_EMPTY_PATH) != 0) return last_failure();
  const std::string_view bytes(reinterpret_cast<const char*>(h.head()->f_handle),
                               h.head()->handle_bytes);
  std::optional<handle> made = in.seal->make(in.number, h.head()->handle_type, bytes);
  if (!made) return std::unexpected(nfsstat3::NFS3ERR_SERVERFAULT);
  return std::move(*made);
}

outcome<found> found_at(int fd, const export_root& in) {
  outcome<handle> h = handle_of(fd, in);
  if (!h) return std::unexpected(h.error());
  const outcome<file_stat> st = stat_of(fd);
  if (!st) return std::unexpected(st.error());
  return found{std::move(*h), attributes_of(*st, in)};
}

int open_entry(int dir, const std::string& name, const entry_open& how) noexcept {
  ::open_how h{};
  h.flags = how.flags | O_CLOEXEC | O_NOFOLLOW;
  h.mode = how.mode;
  h.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
  if (how.cached) h.resolve |= RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, dir, name.c_str(), &h, sizeof h));
}

outcome<found> find_entry(int dir, const std::string& name, const export_root& in, bool cached) {
  const open_fd fd(open_entry(dir, name, {.flags = O_PATH, .cached = cached}), open_fd::use::path);
  if (fd.number() < 0) {
    // A mount point inside the export: the file system that is mounted there is not exported.
    if (errno == EXDEV) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    return last_failure();
  }
  outcome<found> f = found_at(fd.number(), in);
  // The entry was removed between the two calls.
  if (!f && f.error() == nfsstat3::NFS3ERR_STALE) return std::unexpected(nfsstat3::NFS3ERR_NOENT);
  return f;
}

outcome<void> borrowed::reopen(open_fd::use for_what) {
  if (fd->for_what() >= for_what) return {};
  outcome<open_ptr> other = open_handle(in, parts_of(own), for_what);
  if (!other) return std::unexpected(other.error());
  fd = std::move(*other);
  return {};
}

outcome<permissions> borrowed::permitted(const identity& who, const file_stat& st) {
  if (may && same_time(ctime, st.st_ctim)) return *may;
  const acting_as caller(who);
  if (!caller) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
  may = permissions_here(fd->number());
  ctime = st.st_ctim;
  learned = !may_change_unseen(ctime);
  return *may;
}

outcome<void> sync_fd(const export_root& in, const open_fd& fd) noexcept {
  // Links and devices have no descriptor that can be synced.
  const int result =
      fd.for_what() == open_fd::use::path ? ::syncfs(in.fd->number()) : ::fsync(fd.number());
  if (result != 0 && errno != EINVAL && errno != ENOSYS) return last_failure();
  return {};
}

}  // namespace nfs
