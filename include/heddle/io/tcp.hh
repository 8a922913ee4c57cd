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

/// A TCP connection. All else is as for stream.
class tcp_stream : public stream {
 public:
  tcp_stream() noexcept = default;
  /// Takes a connected socket that the driver made.
  explicit tcp_stream(int fd, stream_options options = {});

  /// This end's address; none when it is closed or the connection is gone.
  [[nodiscard]] address local() const noexcept;
  /// Small writes are sent at once (true, as it starts) or gathered by the kernel.
  void set_no_delay(bool on) const noexcept;

 private:
  friend class detail::accept_awaiter_of<tcp_stream>;
  using stream::stream;
};

/// Accepts TCP connections. All else is as for listener.
/// Fails: listen() throws failure, naming the address.
class tcp_listener : public listener {
 public:
  tcp_listener() noexcept = default;
  /// Listens at an address. Port 0 picks a free port, which local() returns.
  [[nodiscard]] static tcp_listener listen(const address& on, listen_options options = {});
  /// As listen(); while the address is in use it tries again, for up to `patience`. For programs
  /// that start right after another one was killed, whose socket the kernel may keep for some
  /// milliseconds more. Cancel: between two tries.
  [[nodiscard]] static task<tcp_listener> listen_within(nanoseconds patience, address on,
                                                        listen_options options = {});

  /// Takes a listening TCP socket of the system's that a service manager opened, or
  /// the process before this one. It then belongs to the listener. Fails, and leaves it alone, when
  /// it is none; with operation_not_supported under the simulation driver.
  [[nodiscard]] static tcp_listener adopt(int fd, listen_options options = {});

  /// Waits for the next connection. If descriptors run out, it pauses and tries again.
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
