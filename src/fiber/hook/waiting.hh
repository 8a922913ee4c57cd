// SPDX-License-Identifier: MIT
// How replaced calls wait. Each of them asks first whether it is its business (`hooked`): in a
// fiber that opted in, and not called by another replaced call.
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>

#include "heddle/base/clock.hh"
#include "heddle/fiber/fiber.hh"

namespace heddle::hook {

/// The fiber that called, if its calls are to wait by the driver; null otherwise.
[[nodiscard]] detail::fiber_core* hooked() noexcept;

/// While it lives, calls of this fiber are not replaced: what waiting itself calls is meant.
class unhooked {
 public:
  explicit unhooked(detail::fiber_core& f) noexcept : fiber_(f) { fiber_.set_hooks(false); }
  unhooked(const unhooked&) = delete;
  unhooked& operator=(const unhooked&) = delete;
  ~unhooked() { fiber_.set_hooks(true); }

 private:
  detail::fiber_core& fiber_;
};

/// Whether the descriptor was made non-blocking: then a call is not to wait at all.
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

/// Waits until the descriptor is ready for `events`. 0, or the errno of the failure; ECANCELED when
/// the fiber was cancelled. Nothing is thrown: there may be C below.
[[nodiscard]] int wait_ready(int fd, short events) noexcept;
/// Waits until one of them is ready, at most `span`. 0, ETIMEDOUT, or the errno of the failure.
[[nodiscard]] int wait_any(std::span<const pollfd> each, nanoseconds span) noexcept;
/// 0, or ECANCELED.
[[nodiscard]] int wait_time(nanoseconds span) noexcept;

/// Sets errno where a compiler cannot have kept its address from before a wait.
[[gnu::noinline]] void set_errno(int error) noexcept;

/// Notes that the driver was asked about this number, so that close() tells it.
void note_descriptor(int fd);
/// Whether it was noted on this worker; forgets it.
[[nodiscard]] bool forget_descriptor(int fd) noexcept;

/// The library's own function of that name: the next one after ours.
[[nodiscard]] void* next_symbol(const char* name) noexcept;

}  // namespace heddle::hook
