// SPDX-License-Identifier: MIT
// Opening, asking and syncing, each one operation.
#include "io/file_call.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "io/descriptor_state.hh"
#include "io/one_operation.hh"

namespace heddle::detail {
namespace {

entry_type type_of(unsigned mode) {
  if (S_ISREG(mode)) return entry_type::file;
  if (S_ISDIR(mode)) return entry_type::directory;
  return S_ISLNK(mode) ? entry_type::link : entry_type::other;
}

}  // namespace

int open_number(const descriptor& d) {
  if (!d.is_open()) throw_failure(kernel_error(-EBADF));
  return d.number();
}

void check_path(std::int64_t outcome, const char* verb, const std::string& path) {
  if (outcome < 0)
    throw failure(kernel_error(static_cast<int>(outcome)),
                  std::string("cannot ") + verb + " " + path);
}

int native_flags(const file_options& o) noexcept {
  int flags = O_CLOEXEC;
  flags |= o.write ? (o.read ? O_RDWR : O_WRONLY) : O_RDONLY;
  if (o.create) flags |= O_CREAT;
  if (o.exclusive) flags |= O_EXCL;
  if (o.truncate) flags |= O_TRUNC;
  if (o.append) flags |= O_APPEND;
  return flags;
}

task<int> open_native(int at, const std::string& path, int flags, unsigned mode,
                      std::uint64_t resolve) {
  if (path.find('\0') != std::string::npos) check_path(-EINVAL, "open", path);
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = resolve;
  one_operation opening(op_code::open, at, "open");
  opening.data = const_cast<char*>(path.c_str());
  opening.more = &how;
  const std::int64_t outcome = co_await opening;
  check_path(outcome, "open", path);
  co_return static_cast<int>(outcome);
}

task<file_status> status_of(int fd) {
  struct ::statx native{};
  one_operation asking(op_code::stat, fd, "stat");
  asking.data = const_cast<char*>("");
  asking.flags = AT_EMPTY_PATH;
  asking.more = &native;
  check_outcome(co_await asking);
  file_status known;
  known.size = native.stx_size;
  known.type = type_of(native.stx_mode);
  known.mode = native.stx_mode & 07777u;
  known.modified =
      std::chrono::seconds(native.stx_mtime.tv_sec) + nanoseconds(native.stx_mtime.tv_nsec);
  known.inode = native.stx_ino;
  known.device = ::makedev(native.stx_dev_major, native.stx_dev_minor);
  known.link_count = native.stx_nlink;
  co_return known;
}

task<> sync_native(int fd, bool data_only) {
  one_operation syncing(op_code::sync, fd, "sync");
  syncing.flags = data_only ? 1 : 0;
  check_outcome(co_await syncing);
}

descriptor_state* make_plain(int fd) {
  return descriptor_state::make<descriptor_state>(fd, descriptor_kind::plain);
}

}  // namespace heddle::detail
