// SPDX-License-Identifier: MIT
// Accepting connections: what listeners of every family share. The driver accepts ahead of demand
// into a short queue; when nobody takes from it, the rest waits in the kernel's backlog. Running
// out of descriptors or memory is survived: counted, and tried again after a pause.
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
  std::uint16_t accept_queue = 64;  ///< accepted and not taken: then accepting stops
  stream_options streams = {};      ///< of accepted connections
  nanoseconds pause = std::chrono::milliseconds(50);  ///< when descriptors or memory run out
};

namespace detail {

class accept_awaiter : public wait, public lane_entry {
 public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }

 protected:
  explicit accept_awaiter(pinned_state&& on) noexcept;
  ~accept_awaiter();  // closes a connection that nobody took
  /// The connection's state; its caller owns one handle. Throws when there is no memory.
  [[nodiscard]] descriptor_state* take();
};

/// It gives a Stream, for the listeners of one family.
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

/// A socket that takes connections.
///
/// Thread: one color. Acceptors are served in call order.
/// Owns: the socket, together with its copies.
class listener : public descriptor {
 public:
  /// Takes no new connections from the system. accept() gives those that were taken already, and
  /// then fails with operation_canceled: nothing is lost on the way to whoever listens next.
  void finish() const noexcept;
  /// How often accepting had to pause because descriptors or memory had run out.
  [[nodiscard]] std::uint64_t pauses() const noexcept;

 protected:
  using descriptor::descriptor;
};

}  // namespace heddle
