// SPDX-License-Identifier: MIT
// Replacements of the calls that transfer bytes, connect and close. Each tries without blocking,
// and waits for readiness if that would block. Blocking writes continue until all bytes are
// written, as the system's do.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "fiber/hook/waiting.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/call.hh"
#include "heddle/sched/detail/here.hh"

#define HEDDLE_NEXT(name) \
  static const auto next = reinterpret_cast<decltype(&::name)>(heddle::hook::next_symbol(#name))

namespace heddle::hook {
namespace {

/// Repeats a non-blocking call until it has a result.
template <class Try>
ssize_t until_done(int fd, short events, Try&& attempt) noexcept {
  for (;;) {
    const ssize_t got = attempt();
    if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return got;
    if (const int error = wait_ready(fd, events); error != 0) {
      set_errno(error);
      return -1;
    }
  }
}

bool is_file(int fd) noexcept {
  struct stat status;
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/// A read or write at the file's position, by the driver.
ssize_t file_transfer(op_code code, int fd, void* bytes, std::size_t size) noexcept {
  std::int64_t got = -ECANCELED;
  try {
    one_operation op(code, fd, "hooked");
    op.data = bytes;
    op.len = static_cast<std::uint32_t>(std::min(size, std::size_t{1} << 30));
    got = await(op);
  } catch (const std::exception&) {
    got = -ENOMEM;
  }
  if (got >= 0) return static_cast<ssize_t>(got);
  set_errno(static_cast<int>(-got));
  return -1;
}

/// Sends all pieces, as a blocking call does. After a failure the result is the number of bytes
/// sent.
template <class Send>
ssize_t send_all(int fd, const iovec* pieces, std::size_t count, Send&& send) noexcept {
  std::size_t total = 0;
  std::size_t first = 0;
  iovec left[64];
  std::size_t offset = 0;  // in the first piece
  while (first < count) {
    const std::size_t n = std::min(count - first, std::size(left));
    std::copy_n(pieces + first, n, left);
    left[0].iov_base = static_cast<char*>(left[0].iov_base) + offset;
    left[0].iov_len -= offset;
    const ssize_t sent = until_done(fd, POLLOUT, [&] { return send(left, n); });
    if (sent < 0) return total > 0 ? static_cast<ssize_t>(total) : -1;
    total += static_cast<std::size_t>(sent);
    auto moved = static_cast<std::size_t>(sent) + offset;
    while (first < count && moved >= pieces[first].iov_len) moved -= pieces[first++].iov_len;
    offset = moved;
  }
  return static_cast<ssize_t>(total);
}

ssize_t send_message(int fd, const iovec* pieces, std::size_t count, int flags) noexcept {
  static const auto next = reinterpret_cast<decltype(&::sendmsg)>(next_symbol("sendmsg"));
  return send_all(fd, pieces, count, [&](iovec* left, std::size_t n) {
    msghdr m{};
    m.msg_iov = left;
    m.msg_iovlen = n;
    return next(fd, &m, flags | MSG_DONTWAIT);
  });
}

int finish_connect(int fd) noexcept {
  if (const int error = wait_ready(fd, POLLOUT); error != 0) {
    set_errno(error);
    return -1;
  }
  int error = 0;
  socklen_t len = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) return -1;
  if (error == 0) return 0;
  set_errno(error);
  return -1;
}

/// The fiber, if this call should wait through the driver: a fiber with hooks, a blocking
/// descriptor.
detail::fiber_core* waits_here(int fd, int flags = 0) noexcept {
  if ((flags & MSG_DONTWAIT) != 0) return nullptr;
  detail::fiber_core* const f = hooked();
  return f == nullptr || is_nonblocking(fd) ? nullptr : f;
}

}  // namespace
}  // namespace heddle::hook

using namespace heddle::hook;
using heddle::op_code;

extern "C" {

int heddle_hook_transfer = 0;  // referenced by the linker, so that this file is linked

ssize_t readv(int fd, const struct iovec* pieces, int count) {
  HEDDLE_NEXT(readv);
  heddle::detail::fiber_core* const f = waits_here(fd);
  if (f == nullptr) return next(fd, pieces, count);
  const unhooked inside(*f);
  if (count == 1 && is_file(fd))
    return heddle::hook::file_transfer(op_code::read, fd, pieces->iov_base, pieces->iov_len);
  const ssize_t got =
      until_done(fd, POLLIN, [&] { return ::preadv2(fd, pieces, count, -1, RWF_NOWAIT); });
  // Devices and files in several pieces do not support the flag.
  return got < 0 && errno == EOPNOTSUPP ? next(fd, pieces, count) : got;
}
ssize_t read(int fd, void* to, size_t size) {
  HEDDLE_NEXT(read);
  if (hooked() == nullptr) return next(fd, to, size);
  const iovec piece{to, size};
  return readv(fd, &piece, 1);
}

ssize_t writev(int fd, const struct iovec* pieces, int count) {
  HEDDLE_NEXT(writev);
  heddle::detail::fiber_core* const f = waits_here(fd);
  if (f == nullptr) return next(fd, pieces, count);
  const unhooked inside(*f);
  if (count == 1 && is_file(fd))
    return heddle::hook::file_transfer(op_code::write, fd, pieces->iov_base, pieces->iov_len);
  const ssize_t sent =
      send_all(fd, pieces, static_cast<std::size_t>(count), [&](auto* left, auto n) {
        return ::pwritev2(fd, left, static_cast<int>(n), -1, RWF_NOWAIT);
      });
  return sent < 0 && errno == EOPNOTSUPP ? next(fd, pieces, count) : sent;
}
ssize_t write(int fd, const void* from, size_t size) {
  HEDDLE_NEXT(write);
  if (hooked() == nullptr) return next(fd, from, size);
  const iovec piece{const_cast<void*>(from), size};
  return writev(fd, &piece, 1);
}

ssize_t recvfrom(int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* len) {
  HEDDLE_NEXT(recvfrom);
  heddle::detail::fiber_core* const f = waits_here(fd, flags);
  if (f == nullptr) return next(fd, to, size, flags, from, len);
  const unhooked inside(*f);
  const bool whole = (flags & MSG_WAITALL) != 0 && from == nullptr;
  std::size_t have = 0;
  for (;;) {
    const ssize_t got = until_done(fd, POLLIN, [&] {
      return next(fd, static_cast<char*>(to) + have, size - have,
                  (flags & ~MSG_WAITALL) | MSG_DONTWAIT, from, len);
    });
    if (got < 0) return have > 0 ? static_cast<ssize_t>(have) : got;
    have += static_cast<std::size_t>(got);
    if (!whole || got == 0 || have == size) return static_cast<ssize_t>(have);
  }
}
ssize_t recv(int fd, void* to, size_t size, int flags) {
  HEDDLE_NEXT(recv);
  if (hooked() == nullptr) return next(fd, to, size, flags);
  return recvfrom(fd, to, size, flags, nullptr, nullptr);
}
ssize_t recvmsg(int fd, struct msghdr* m, int flags) {
  HEDDLE_NEXT(recvmsg);
  heddle::detail::fiber_core* const f = waits_here(fd, flags);
  if (f == nullptr) return next(fd, m, flags);
  const unhooked inside(*f);
  return until_done(fd, POLLIN, [&] { return next(fd, m, flags | MSG_DONTWAIT); });
}

ssize_t send(int fd, const void* from, size_t size, int flags) {
  HEDDLE_NEXT(send);
  heddle::detail::fiber_core* const f = waits_here(fd, flags);
  if (f == nullptr) return next(fd, from, size, flags);
  const unhooked inside(*f);
  const iovec piece{const_cast<void*>(from), size};
  return send_message(fd, &piece, 1, flags);
}
ssize_t sendto(int fd, const void* from, size_t size, int flags, const sockaddr* to,
               socklen_t len) {
  HEDDLE_NEXT(sendto);
  if (to == nullptr && hooked() != nullptr) return send(fd, from, size, flags);
  heddle::detail::fiber_core* const f = waits_here(fd, flags);
  if (f == nullptr) return next(fd, from, size, flags, to, len);
  const unhooked inside(*f);
  return until_done(fd, POLLOUT,
                    [&] { return next(fd, from, size, flags | MSG_DONTWAIT, to, len); });
}
ssize_t sendmsg(int fd, const struct msghdr* m, int flags) {
  HEDDLE_NEXT(sendmsg);
  heddle::detail::fiber_core* const f = waits_here(fd, flags);
  if (f == nullptr) return next(fd, m, flags);
  const unhooked inside(*f);
  if (m->msg_name == nullptr && m->msg_controllen == 0)
    return send_message(fd, m->msg_iov, m->msg_iovlen, flags);
  return until_done(fd, POLLOUT, [&] { return next(fd, m, flags | MSG_DONTWAIT); });
}

int accept4(int fd, sockaddr* from, socklen_t* len, int flags) {
  HEDDLE_NEXT(accept4);
  heddle::detail::fiber_core* const f = waits_here(fd);
  if (f == nullptr) return next(fd, from, len, flags);
  const unhooked inside(*f);
  if (const int error = wait_ready(fd, POLLIN); error != 0) {
    set_errno(error);
    return -1;
  }
  return next(fd, from, len, flags);
}
int accept(int fd, sockaddr* from, socklen_t* len) {
  HEDDLE_NEXT(accept);
  if (hooked() == nullptr) return next(fd, from, len);
  return accept4(fd, from, len, 0);
}

int connect(int fd, const sockaddr* to, socklen_t len) {
  HEDDLE_NEXT(connect);
  heddle::detail::fiber_core* const f = waits_here(fd);
  if (f == nullptr) return next(fd, to, len);
  const unhooked inside(*f);
  // This call has no such flag, so the descriptor is made non-blocking during the call.
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  const int outcome = next(fd, to, len);
  const int error = errno;
  ::fcntl(fd, F_SETFL, flags);
  if (outcome == 0) return 0;
  if (error == EINPROGRESS) return finish_connect(fd);
  if (error == EAGAIN) {  // a Unix socket with a full backlog gives no readiness to wait for
    try {
      const int late =
          heddle::await(heddle::blocking([&] { return next(fd, to, len) == 0 ? 0 : errno; }));
      if (late == 0) return 0;
      set_errno(late);
    } catch (const std::exception&) {
      set_errno(ECANCELED);
    }
    return -1;
  }
  set_errno(error);
  return -1;
}

int close(int fd) {
  HEDDLE_NEXT(close);
  if (!forget_descriptor(fd)) return next(fd);
  heddle::driver_here().close(fd, heddle::worker::here());
  return 0;
}

}  // extern "C"
