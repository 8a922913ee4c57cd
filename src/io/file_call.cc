// SPDX-License-Identifier: MIT
// Opening, reading the status and syncing: one operation each.
#include "io/file_call.hh"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "heddle/sched/detail/here.hh"
#include "io/file_state.hh"
#include "io/state_kinds.hh"

namespace heddle {

void end_nonblocking_open(int fd, int flags) noexcept {
  if (!driver_here().simulated()) ::fcntl(fd, F_SETFL, flags & O_APPEND);
}

}  // namespace heddle

namespace heddle::detail {
namespace {

entry_type type_of(unsigned mode) {
  if (S_ISREG(mode)) return entry_type::file;
  if (S_ISDIR(mode)) return entry_type::directory;
  return S_ISLNK(mode) ? entry_type::link : entry_type::other;
}

void each_use(descriptor_state& s, void (*f)(void*, operation&), void* context) noexcept {
  static_cast<file_state&>(s).uses.each([&](file_use& use) { f(context, use.asked()); });
}

}  // namespace

const descriptor_functions file_functions = {
    .start = &start_steps,
    .cancel = &cancel_in_driver,
    .close = &close_number,
    .each_operation = &each_use,
    .destroy = &destroy_state<file_state>,
    .works_in = nullptr,
};

file_use::file_use(pinned_state&& on, operation& asked) noexcept
    : state_(on.release()), asked_(asked) {
  if (state_ == nullptr) return;
  HEDDLE_ASSERT(state_->kind == descriptor_kind::file, "file calls need a file or a directory");
  static_cast<file_state*>(state_)->uses.push_back(*this);
}

file_use::~file_use() {
  if (state_ == nullptr) return;
  unlink();  // while the list is there
  unpin(*state_);
}

int file_use::number() const noexcept { return state_ != nullptr ? state_->number() : -1; }

file_operation::file_operation(op_code code, descriptor_state* on, const char* what) noexcept
    : one_operation(code, on != nullptr ? on->number() : AT_FDCWD, what),
      use_(pinned_state(on), *this) {}

void check_path(std::int64_t outcome, const char* verb, const std::string& path) {
  if (outcome < 0)
    throw failure(kernel_error(static_cast<int>(outcome)),
                  std::string("cannot ") + verb + " " + path);
}

void check_name(const char* verb, const std::string& path) {
  if (path.find('\0') != std::string::npos) check_path(-EINVAL, verb, path);
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

task<int> open_native(descriptor_state* at, const std::string& path, int flags, unsigned mode,
                      std::uint64_t resolve) {
  check_name("open", path);
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  const bool may_wait = (flags & (O_PATH | O_DIRECTORY)) == 0;
  if (may_wait) how.flags |= O_NONBLOCK;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = resolve;
  std::int64_t outcome = -EAGAIN;
  for (int i = 0; outcome == -EAGAIN && i != open_tries; ++i) {
    file_operation opening(op_code::open, at, "open");
    opening.data = const_cast<char*>(path.c_str());
    opening.more = &how;
    outcome = co_await opening;
  }
  check_path(outcome, "open", path);
  if (may_wait && !driver_here().simulated()) {
    // Named pipes and terminals stay as they are, so that reading them waits for them only.
    struct ::stat known{};
    const int fd = static_cast<int>(outcome);
    if (::fstat(fd, &known) == 0 && S_ISREG(known.st_mode)) end_nonblocking_open(fd, flags);
  }
  co_return static_cast<int>(outcome);
}

task<file_status> status_of(descriptor_state& on) {
  struct ::statx native{};
  file_operation asking(op_code::stat, &on, "stat");
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

task<> sync_native(descriptor_state& on, bool data_only) {
  file_operation syncing(op_code::sync, &on, "sync");
  syncing.flags = data_only ? 1 : 0;
  check_outcome(co_await syncing);
}

descriptor_state* make_file(int fd) { return descriptor_state::make<file_state>(fd); }

}  // namespace heddle::detail
