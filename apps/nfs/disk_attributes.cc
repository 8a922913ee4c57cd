// SPDX-License-Identifier: MIT
// Attributes: SETATTR, and those of new objects.
#include "disk_attributes.hh"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "disk_pool.hh"
#include "disk_volume.hh"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452  // Linux 6.6, newer than the C library
#endif

namespace nfs {
namespace {

timespec time_to_set(const nfs3::set_time& to) noexcept {
  switch (to.set_it) {
    case nfs3::time_how::SET_TO_SERVER_TIME:
      return {0, UTIME_NOW};
    case nfs3::time_how::SET_TO_CLIENT_TIME:
      return {static_cast<time_t>(to.time().seconds), static_cast<long>(to.time().nseconds)};
    default:
      return {0, UTIME_OMIT};
  }
}

int change_mode(int fd, std::uint32_t mode) noexcept {
  if (::syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOSYS) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return ::chmod(path.c_str(), mode);
}

outcome<void> set_times(int fd, const nfs3::sattr3& to) {
  const timespec times[2] = {time_to_set(to.atime), time_to_set(to.mtime)};
  if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT) return {};
  for (const timespec& t : times)
    if (t.tv_nsec != UTIME_OMIT && t.tv_nsec != UTIME_NOW && t.tv_nsec >= 1'000'000'000)
      return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  // The C library refuses the empty path.
  if (::syscall(SYS_utimensat, fd, "", times, AT_EMPTY_PATH) != 0) return last_failure();
  return {};
}

}  // namespace

outcome<void> set_attributes(int fd, const file_stat& st, const nfs3::sattr3& to) {
  if (to.uid || to.gid) {
    const uid_t uid = to.uid.value_or(static_cast<uid_t>(-1));
    const gid_t gid = to.gid.value_or(static_cast<gid_t>(-1));
    if (::fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
      return last_failure();
  }
  // A link's mode means nothing, and cannot be set.
  if (to.mode && !S_ISLNK(st.st_mode) && change_mode(fd, *to.mode & 07777) != 0)
    return last_failure();
  return set_times(fd, to);
}

outcome<void> set_attributes_of_new(int fd, const nfs3::sattr3& to) {
  file_stat st{};
  if (::fstat(fd, &st) != 0) return last_failure();
  const bool other_uid = to.uid && *to.uid != st.st_uid;
  const bool other_gid = to.gid && *to.gid != st.st_gid;
  if (other_uid || other_gid) {
    const uid_t uid = other_uid ? *to.uid : static_cast<uid_t>(-1);
    const gid_t gid = other_gid ? *to.gid : static_cast<gid_t>(-1);
    if (::fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 && errno != EPERM)
      return last_failure();
    // Another owner took these bits away.
    if (to.mode && (*to.mode & (S_ISUID | S_ISGID)) != 0 && !S_ISLNK(st.st_mode) &&
        change_mode(fd, *to.mode & 07777) != 0)
      return last_failure();
  }
  return set_times(fd, to);
}

heddle::task<outcome<void>> disk_volume::set(object& of, const nfs3::sattr3& to,
                                             const std::optional<nfs3::nfstime3>& guard,
                                             const identity& who, nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(of);
  heddle::mutex::hold turn = co_await o.change.lock();
  change_mark mark(o);
  borrowed b = o.lend(who);
  auto resize = [&](const file_stat& st) -> outcome<void> {
    if (S_ISDIR(st.st_mode)) return std::unexpected(nfsstat3::NFS3ERR_ISDIR);
    if (!S_ISREG(st.st_mode)) return std::unexpected(nfsstat3::NFS3ERR_INVAL);
    if (*to.size > static_cast<std::uint64_t>(INT64_MAX))
      return std::unexpected(nfsstat3::NFS3ERR_FBIG);
    if (who.uid != st.st_uid) {
      const outcome<permissions> may = b.permitted(who, st);
      if (!may) return std::unexpected(may.error());
      if (!may->write) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    }
    return b.reopen(open_fd::use::write);
  };
  auto work = [&]() -> outcome<void> {
    const outcome<file_stat> st = stat_of(b.fd->number());
    if (!st) return std::unexpected(st.error());
    seen.before = before_of(*st);
    seen.after = attributes_of(*st, b.in);
    if (guard && *guard != time_of(st->st_ctim)) return std::unexpected(nfsstat3::NFS3ERR_NOT_SYNC);
    outcome<void> done;
    if (to.size) done = resize(*st);
    // A descriptor that can be synced; a file that cannot be opened is synced with its file system.
    if (done && S_ISREG(st->st_mode) && options_.sync_changes)
      static_cast<void>(b.reopen(open_fd::use::read));
    if (done) {
      const acting_as caller(who);
      if (!caller) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
      if (to.size && ::ftruncate(b.fd->number(), static_cast<off_t>(*to.size)) != 0)
        done = last_failure();
      if (done) done = set_attributes(b.fd->number(), *st, to);
    }
    if (const outcome<file_stat> now = stat_of(b.fd->number()))
      seen.after = attributes_of(*now, b.in);
    return done;
  };
  outcome<void> done = co_await in_pool<runs::once>(work);
  o.learn(std::move(b), who);
  if (!mark.end()) seen.before.reset();
  turn.release();
  if (done) done = co_await change_made(o);
  co_return done;
}

}  // namespace nfs
