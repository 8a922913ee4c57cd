// SPDX-License-Identifier: MIT
// The handle of a descriptor: how it is made, counted and closed.
#include "tamer/fd.hh"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "heddle/core/callback.hh"
#include "heddle/core/start.hh"
#include "heddle/io/blocking.hh"
#include "tamer/descriptor.hh"
#include "tamer/fd_source.hh"

namespace tamer {

using detail::descriptor;

namespace {

int open_now(const char* path, int flags, mode_t mode) {
  const int n = ::open(path, flags | O_NONBLOCK | O_CLOEXEC, mode);
  return n < 0 ? -errno : n;
}

heddle::task<int> open_file(std::string path, int flags, mode_t mode) {
  co_return co_await heddle::blocking(&open_now, path.c_str(), flags, mode);
}

}  // namespace

fd::fd(int value) : state_(new descriptor(value)) {}
fd::fd(const fd& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->references.add();
}
fd::~fd() {
  if (state_ != nullptr) state_->drop();
}

int fd::fdnum() const noexcept { return state_ == nullptr ? -EBADF : state_->number; }
int fd::error() const noexcept {
  return state_ == nullptr ? -EBADF : state_->number < 0 ? state_->number : 0;
}

fd fd::open(const char* path, int flags, mode_t mode) {
  const int n = ::open(path, flags | O_NONBLOCK | O_CLOEXEC, mode);
  return fd(n < 0 ? -errno : n);
}
void fd::open(std::string path, int flags, mode_t mode, event<fd> done) {
  heddle::start(open_file(std::move(path), flags, mode),
                heddle::map<int>(std::move(done), [](int n) { return fd(n); }));
}
void fd::open(std::string path, int flags, event<fd> done) {
  open(std::move(path), flags, 0777, std::move(done));
}

fd fd::socket(int domain, int type, int protocol) {
  const int n = ::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  return fd(n < 0 ? -errno : n);
}
int fd::pipe(fd& read_end, fd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) {
    const int error = -errno;
    read_end = write_end = fd(error);
    return error;
  }
  read_end = fd(ends[0]);
  write_end = fd(ends[1]);
  return 0;
}
int fd::socketpair(int domain, int type, int protocol, fd& first, fd& second) {
  int ends[2];
  if (::socketpair(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol, ends) != 0) {
    const int error = -errno;
    first = second = fd(error);
    return error;
  }
  first = fd(ends[0]);
  second = fd(ends[1]);
  return 0;
}

int fd::make_nonblocking(int number) {
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0 || ::fcntl(number, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
  return 0;
}
int fd::make_nonblocking() {
  if (!*this) return error();
  state_->mode = descriptor::unknown;
  return make_nonblocking(state_->number);
}

int fd::open_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}
int fd::open_limit(int wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  const auto soft = static_cast<rlim_t>(std::max(wanted, 0));
  rlimit raised{soft, std::max(soft, limit.rlim_max)};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return open_limit();
  limit.rlim_cur = std::min(soft, limit.rlim_max);  // only a privileged process may raise the other
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return -errno;
  return open_limit();
}

void fd::fstat(struct stat& out, int_event done) {
  if (!*this) return done.trigger(error());
  done.trigger(::fstat(state_->number, &out) == 0 ? 0 : -errno);
}

int fd::listen(int backlog) {
  if (!*this) return error();
  if (const auto by_source = detail::listen_by_source(*state_, backlog)) return *by_source;
  return ::listen(state_->number, backlog) == 0 ? 0 : -errno;
}
int fd::bind(const sockaddr* address, socklen_t len) {
  if (!*this) return error();
  return ::bind(state_->number, address, len) == 0 ? 0 : -errno;
}
int fd::shutdown(int how) {
  if (!*this) return error();
  return ::shutdown(state_->number, how) == 0 ? 0 : -errno;
}

void fd::at_close(event<> e) {
  if (!*this) return e.trigger();
  state_->closers.push_back(std::move(e));
}
void fd::close(int leave_error) {
  if (state_ != nullptr) state_->close(leave_error);
}
void fd::close(event<int> done) {
  const int result = valid() ? 0 : -EBADF;
  close();
  done.trigger(result);
}
event<> fd::closer() const {
  if (!*this) return {};
  return heddle::function_event<>([f = fdref(*this, fdref::weak)] { f.get().close(); });
}

fdref::fdref(const fd& f, ref_type t) noexcept : state_(descriptor::of(f)), type_(t) {
  if (state_ != nullptr) (t == weak ? state_->weak_references : state_->references).add();
}
fdref::fdref(const fdref& other) noexcept : state_(other.state_), type_(other.type_) {
  if (state_ != nullptr) (type_ == weak ? state_->weak_references : state_->references).add();
}
fdref::~fdref() {
  if (state_ == nullptr) return;
  if (type_ == weak) {
    state_->drop_weak();
  } else {
    state_->drop();
  }
}
int fdref::fdnum() const noexcept {
  return state_ == nullptr || !state_->references.any() ? -EBADF : state_->number;
}
fd fdref::get() const noexcept { return state_ == nullptr ? fd() : descriptor::another(*state_); }

}  // namespace tamer
