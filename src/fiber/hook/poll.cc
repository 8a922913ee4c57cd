// SPDX-License-Identifier: MIT
// Replacements of poll() and select(): they ask the system first and last, and wait through the
// driver in between.
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "fiber/hook/waiting.hh"

using namespace heddle::hook;

extern "C" {

int heddle_hook_poll = 0;  // referenced by the linker, so that this file is linked

int poll(struct pollfd* each, nfds_t count, int timeout_ms) {
  static const auto next = reinterpret_cast<decltype(&::poll)>(next_symbol("poll"));
  heddle::detail::fiber_core* const f = hooked();
  if (f == nullptr || timeout_ms == 0) return next(each, count, timeout_ms);
  const unhooked inside(*f);
  const auto end = timeout_ms < 0 ? heddle::never
                                  : heddle::add_saturated(heddle::clock::now(),
                                                          std::chrono::milliseconds(timeout_ms));
  for (;;) {
    const int ready = next(each, count, 0);
    if (ready != 0) return ready;
    const heddle::nanoseconds left = end == heddle::never
                                         ? heddle::nanoseconds::max()
                                         : heddle::span_between(heddle::clock::now(), end);
    if (left <= heddle::nanoseconds::zero()) return 0;
    const int error = wait_any({each, static_cast<std::size_t>(count)}, left);
    if (error == 0 || error == ETIMEDOUT) continue;
    set_errno(error);
    return -1;
  }
}

int select(int count, fd_set* in, fd_set* out, fd_set* except, struct timeval* timeout) {
  static const auto next = reinterpret_cast<decltype(&::select)>(next_symbol("select"));
  if (hooked() == nullptr) return next(count, in, out, except, timeout);
  std::vector<pollfd> each;
  for (int fd = 0; fd < count; ++fd) {
    short events = 0;
    if (in != nullptr && FD_ISSET(fd, in)) events |= POLLIN;
    if (out != nullptr && FD_ISSET(fd, out)) events |= POLLOUT;
    if (except != nullptr && FD_ISSET(fd, except)) events |= POLLPRI;
    if (events != 0) each.push_back({fd, events, 0});
  }
  int timeout_ms = -1;
  if (timeout != nullptr) {  // rounded up, so that it never ends early
    const long long ms = timeout->tv_sec * 1000LL + (timeout->tv_usec + 999) / 1000;
    timeout_ms = ms > 2'000'000'000 ? 2'000'000'000 : static_cast<int>(ms);
  }
  if (poll(each.data(), each.size(), timeout_ms) < 0) return -1;
  // Lets the system fill the sets with its answer.
  timeval at_once{};
  return next(count, in, out, except, &at_once);
}

}  // extern "C"
