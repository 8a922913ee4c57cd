// SPDX-License-Identifier: MIT
// The system calls of every turn of a loop, without the C library's additions. There a call is a
// point where a thread may be cancelled: in a program that ever had a second thread that is two
// locked instructions and some 30 others a call, and our threads are never cancelled. Sanitizers
// need the library's calls, which tell them which bytes are written and which thread waits.
//
// Each gives the kernel's result, or -errno.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "heddle/base/sanitizer.hh"

namespace heddle::system_call {

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
/// Calls epoll_pwait2 (since Linux 5.11); older kernels answer -ENOSYS.
inline long wait(int set, epoll_event* out, int count, const timespec& most) noexcept {
  return outcome(::epoll_pwait2(set, out, count, &most, nullptr));
}

#else

/// Straight to the kernel. Elsewhere than on x86-64 by way of the library's general call.
inline long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
#if defined(__x86_64__)
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory", "cc");
  return result;
#else
  return outcome(::syscall(number, a, b, c, d, e, f));
#endif
}
inline long number_of(const void* at) noexcept { return reinterpret_cast<long>(at); }

inline long receive(int fd, void* to, std::size_t len, int flags) noexcept {
  return call(SYS_recvfrom, fd, number_of(to), static_cast<long>(len), flags);
}
inline long send(int fd, const void* from, std::size_t len, int flags) noexcept {
  return call(SYS_sendto, fd, number_of(from), static_cast<long>(len), flags);
}
inline long send_msg(int fd, const msghdr* what, int flags) noexcept {
  return call(SYS_sendmsg, fd, number_of(what), flags);
}
inline long read(int fd, void* to, std::size_t len) noexcept {
  return call(SYS_read, fd, number_of(to), static_cast<long>(len));
}
inline long write(int fd, const void* from, std::size_t len) noexcept {
  return call(SYS_write, fd, number_of(from), static_cast<long>(len));
}
inline long accept(int fd, sockaddr* from, socklen_t* len, int flags) noexcept {
  return call(SYS_accept4, fd, number_of(from), number_of(len), flags);
}
inline long close(int fd) noexcept { return call(SYS_close, fd); }
inline long wait(int set, epoll_event* out, int count, int ms) noexcept {
  return call(SYS_epoll_pwait, set, number_of(out), count, ms);
}
/// Since Linux 5.11; before it -ENOSYS.
inline long wait(int set, epoll_event* out, int count, const timespec& most) noexcept {
  return call(SYS_epoll_pwait2, set, number_of(out), count, number_of(&most));
}

#endif

}  // namespace heddle::system_call
