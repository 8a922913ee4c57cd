// SPDX-License-Identifier: MIT
// The calls that a loop makes all the time, without what the C library adds. There they are points
// at which a thread may be cancelled: in a program that ever had a second thread that is two locked
// instructions and some 30 others a call, and nobody cancels threads of ours. Sanitizers want the
// library's calls, which tell them what is written and who waits for whom.
//
// Each gives what the kernel gave, or -errno.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "heddle/base/sanitizer.hh"

namespace heddle::bare {

inline long outcome(long result) noexcept { return result < 0 ? -errno : result; }

#if HEDDLE_ASAN || HEDDLE_TSAN || !defined(__LP64__)

inline long receive(int fd, void* to, std::size_t len, int flags) noexcept {
  return outcome(::recv(fd, to, len, flags));
}
inline long send(int fd, const void* from, std::size_t len, int flags) noexcept {
  return outcome(::send(fd, from, len, flags));
}
inline long send_msg(int fd, const msghdr* what, int flags) noexcept {
  return outcome(::sendmsg(fd, what, flags));
}
inline long read(int fd, void* to, std::size_t len) noexcept {
  return outcome(::read(fd, to, len));
}
inline long write(int fd, const void* from, std::size_t len) noexcept {
  return outcome(::write(fd, from, len));
}
inline long accept(int fd, sockaddr* from, socklen_t* len, int flags) noexcept {
  return outcome(::accept4(fd, from, len, flags));
}
inline long close(int fd) noexcept { return outcome(::close(fd)); }
inline long wait(int set, epoll_event* out, int count, int ms) noexcept {
  return outcome(::epoll_wait(set, out, count, ms));
}
/// Since Linux 5.11; before it -ENOSYS.
inline long wait(int set, epoll_event* out, int count, const timespec& most) noexcept {
  return outcome(::epoll_pwait2(set, out, count, &most, nullptr));
}

#else

inline long receive(int fd, void* to, std::size_t len, int flags) noexcept {
  return outcome(::syscall(SYS_recvfrom, fd, to, len, flags, nullptr, nullptr));
}
inline long send(int fd, const void* from, std::size_t len, int flags) noexcept {
  return outcome(::syscall(SYS_sendto, fd, from, len, flags, nullptr, 0));
}
inline long send_msg(int fd, const msghdr* what, int flags) noexcept {
  return outcome(::syscall(SYS_sendmsg, fd, what, flags));
}
inline long read(int fd, void* to, std::size_t len) noexcept {
  return outcome(::syscall(SYS_read, fd, to, len));
}
inline long write(int fd, const void* from, std::size_t len) noexcept {
  return outcome(::syscall(SYS_write, fd, from, len));
}
inline long accept(int fd, sockaddr* from, socklen_t* len, int flags) noexcept {
  return outcome(::syscall(SYS_accept4, fd, from, len, flags));
}
inline long close(int fd) noexcept { return outcome(::syscall(SYS_close, fd)); }
inline long wait(int set, epoll_event* out, int count, int ms) noexcept {
  return outcome(::syscall(SYS_epoll_pwait, set, out, count, ms, nullptr, 0));
}
/// Since Linux 5.11; before it -ENOSYS.
inline long wait(int set, epoll_event* out, int count, const timespec& most) noexcept {
  return outcome(::syscall(SYS_epoll_pwait2, set, out, count, &most, nullptr, 0));
}

#endif

}  // namespace heddle::bare
