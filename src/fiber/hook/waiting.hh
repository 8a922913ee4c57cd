// SPDX-License-Identifier: MIT
// The waits of replaced calls. Each call first asks `hooked` whether to wait through the driver:
// only in a fiber that opted in, and not inside another replaced call.
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>

#include "heddle/base/clock.hh"
#include "heddle/fiber/fiber.hh"

namespace heddle::hook {

/// The calling fiber if its calls should wait through the driver, else null.
[[nodiscard]] detail::fiber_core* hooked() noexcept;

/// During its lifetime, calls of this fiber are not replaced, because the wait itself makes them.
class unhooked {
 public:
  explicit unhooked(detail::fiber_core& f) noexcept : fiber_(f) { fiber_.set_hooks(false); }
  unhooked(const unhooked&) = delete;
  unhooked& operator=(const unhooked&) = delete;
  ~unhooked() { fiber_.set_hooks(true); }

 private:
  detail::fiber_core& fiber_;
};

/// Whether the descriptor was made non-blocking; then calls must not wait.
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

/// Waits until the descriptor is ready for `events`. Returns 0, or the errno of the failure;
/// ECANCELED if the fiber was cancelled. Never throws, because C code may be among the callers.
[[nodiscard]] int wait_ready(int fd, short events) noexcept;
/// Waits until one of them is ready, at most `span`. Returns 0, ETIMEDOUT, or the errno of the
/// failure.
[[nodiscard]] int wait_any(std::span<const pollfd> each, nanoseconds span) noexcept;
/// Waits for `span`. Returns 0, or ECANCELED.
[[nodiscard]] int wait_time(nanoseconds span) noexcept;

/// Sets errno. Not inlined, because a compiler may have kept errno's address from before a wait.
[[gnu::noinline]] void set_errno(int error) noexcept;

/// Notes that the driver knows this descriptor number, so that close() informs the driver.
void note_descriptor(int fd);
/// Whether the number was noted on this worker; removes the note.
[[nodiscard]] bool forget_descriptor(int fd) noexcept;

/// The library's own function of this name, which follows ours in the search order.
[[nodiscard]] void* next_symbol(const char* name) noexcept;

}  // namespace heddle::hook
