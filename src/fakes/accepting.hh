// SPDX-License-Identifier: MIT
// The parts of a server that all fakes have in common: an accept loop that outlives errors, and
// the close of a connection whose last bytes must arrive.
#pragma once

#include <chrono>
#include <system_error>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/stream.hh"

namespace heddle::fakes::detail {

/// Pause behind an error of a socket that serves, so that a lasting error is no busy loop.
inline constexpr nanoseconds error_pause = std::chrono::milliseconds(1);

/// Whether an error of a socket ends the task that serves it: the task is cancelled, or the socket
/// is closed. Other errors are those of one client, or go away.
[[nodiscard]] inline bool ends_serving(const std::error_code& error) noexcept {
  return error == std::errc::operation_canceled || error == std::errc::bad_file_descriptor;
}

/// Accepts connections, and calls take(connection) for each, until the task is cancelled or the
/// listener is closed.
template <class Listener, class Take>
task<> accept_each(const Listener& door, Take take) {
  for (;;) {
    auto on = co_await as_expected(door.accept());
    if (on) {
      take(std::move(*on));
    } else if (ends_serving(on.error())) {
      co_return;
    } else {
      co_await sleep_for(error_pause);
    }
  }
}

/// Ends the sending, and reads up to the end of the client's bytes.
inline task<> drain(const stream& on) {
  on.shutdown_write();
  while (received got = co_await on.receive()) got.release();
}

/// Waits for a client's end behind the last byte that it gets, for at most `linger`. A close with
/// unread bytes is a reset, which may overtake the last bytes.
/// Fails: operation_canceled if the task is cancelled; other errors end the wait.
inline task<> finish(const stream& on, nanoseconds linger) {
  const auto ended = co_await as_expected(with_timeout(drain(on), linger));
  if (!ended && ended.error() == std::errc::operation_canceled) throw failure(ended.error());
}

}  // namespace heddle::fakes::detail
