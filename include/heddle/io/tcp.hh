// SPDX-License-Identifier: MIT
// TCP: listeners and connections.
//
//   tcp_listener door = tcp_listener::listen(address::loopback(8080));
//   for (;;) spawn(session(co_await door.accept()));
//
//   tcp_stream s = co_await tcp_connect(address::loopback(8080));
#pragma once

#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/address.hh"
#include "heddle/io/listener.hh"

namespace heddle {

/// A TCP connection. As stream; see there.
class tcp_stream : public stream {
 public:
  tcp_stream() noexcept = default;
  /// Takes a connected socket of the driver's.
  explicit tcp_stream(int fd, stream_options options = {});

  /// No address when it is closed or the connection is gone. Version 4 is version 4, also where the
  /// listener takes both.
  [[nodiscard]] address local() const noexcept;
  [[nodiscard]] address peer() const noexcept;
  /// Small writes are sent at once (true, as it starts) or gathered by the kernel.
  void set_no_delay(bool on) const noexcept;
  /// Before the last write: what does not fill a segment is held back, and then leaves in one
  /// segment with the end of the stream. close() or shutdown_write() must follow; else the system
  /// sends it after 200 ms.
  void cork() const noexcept;
  /// close() resets the connection from here on: what has not been sent is dropped, and the peer is
  /// told of an error instead of an end.
  void set_reset_on_close() const noexcept;

 private:
  friend class detail::accept_awaiter_of<tcp_stream>;
  using stream::stream;
};

/// Takes TCP connections. As listener; see there.
/// Fails: listen() throws failure, naming the address.
class tcp_listener : public listener {
 public:
  tcp_listener() noexcept = default;
  /// Port 0 picks a free one; local() tells which.
  [[nodiscard]] static tcp_listener listen(const address& on, listen_options options = {});

  /// Takes a listening TCP socket of the system's that somebody else opened: a service manager, or
  /// the process before this one. It then belongs to the listener. Fails, and leaves it alone, when
  /// it is none; with operation_not_supported under the simulation driver.
  [[nodiscard]] static tcp_listener adopt(int fd, listen_options options = {});

  /// The next connection. Survives a lack of descriptors: it waits and tries again.
  [[nodiscard]] accept_of<tcp_stream> accept() const noexcept {
    return accept_of<tcp_stream>(state_);
  }
  [[nodiscard]] address local() const noexcept;

 private:
  using listener::listener;
};

/// Connects. Fails as the system says, connection_refused for one. Cancel: the attempt is given up.
[[nodiscard]] task<tcp_stream> tcp_connect(address to, stream_options options = {});
/// Looks the name up and tries its addresses in order; fails for the first one's reason.
[[nodiscard]] task<tcp_stream> tcp_connect(std::string host, std::uint16_t port,
                                           stream_options options = {});

}  // namespace heddle
