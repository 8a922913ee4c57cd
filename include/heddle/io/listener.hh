// SPDX-License-Identifier: MIT
// Accepting connections: the base of listeners of every family, and listeners of a program's own
// (io/stream_source.hh). The driver accepts ahead of demand into a short queue; when that is full,
// the rest waits in the kernel's backlog. Running out of descriptors or memory is
// survived: counted, and tried again after a pause.
#pragma once

#include <cstdint>

#include "heddle/base/clock.hh"
#include "heddle/io/stream.hh"

namespace heddle {

/// Limits and switches of a listener; the defaults suit a public server.
struct listen_options {
  int backlog = 4096;               ///< connections that the kernel holds (it caps this itself)
  bool reuse_address = true;        ///< listen although old connections to the port linger
  bool reuse_port = false;          ///< several listeners share the port
  bool v6_only = false;             ///< without it, an any-address listener takes version 4 too
  bool no_delay = true;             ///< accepted connections send small writes at once
  std::uint16_t accept_queue = 64;  ///< accepting stops when this many are not taken
  stream_options streams = {};      ///< options of accepted connections
  nanoseconds pause = std::chrono::milliseconds(50);  ///< when descriptors or memory run out
};

class stream_source;

namespace detail {

class accept_awaiter : public lane_awaiter<wait> {
 protected:
  explicit accept_awaiter(pinned_state&& on) noexcept;
  ~accept_awaiter();  // closes a connection that was not taken
  /// The connection's state; the caller owns one handle of it. Throws when there is no memory.
  [[nodiscard]] descriptor_state* take();
};

/// An accept_awaiter that gives a Stream, for the listeners of one family.
template <class Stream>
class accept_awaiter_of : public accept_awaiter {
 public:
  explicit accept_awaiter_of(pinned_state&& on, nothing_more) noexcept
      : accept_awaiter(std::move(on)) {}

  Stream await_resume() {
    check_outcome(outcome);
    return Stream(take());
  }
  [[nodiscard]] result<Stream> await_result() noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    try {
      return Stream(take());
    } catch (const std::system_error& e) {
      return std::unexpected(e.code());
    }
  }
};

}  // namespace detail

/// Waits for a connection. Cancel: at once; a connection that came stays for the next accept.
template <class Stream>
using accept_of = detail::descriptor_call<detail::accept_awaiter_of<Stream>>;

/// A listener takes connections: from a socket, or from a program's own source of streams.
///
/// Thread: one color. Acceptors are served in call order.
/// Owns: the socket, together with its copies.
class listener : public descriptor {
 public:
  listener() noexcept = default;

  /// Waits for the next connection, of whatever kind. If descriptors run out, the listener pauses
  /// and tries again.
  [[nodiscard]] accept_of<stream> accept() const noexcept { return accept_of<stream>(state_); }
  /// Stops taking connections from the system. accept() gives the connections already taken, and
  /// then fails with operation_canceled: no connection is lost for the next process that listens.
  void finish() const noexcept;
  /// How often accepting had to pause because descriptors or memory had run out.
  [[nodiscard]] std::uint64_t pauses() const noexcept;

 protected:
  friend listener make_listener(std::unique_ptr<stream_source> source);
  using descriptor::descriptor;
};

}  // namespace heddle
