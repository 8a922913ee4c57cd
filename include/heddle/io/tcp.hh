// SPDX-License-Identifier: MIT
// TCP: listeners and connections.
//
//   tcp_listener door = tcp_listener::listen(address::loopback(8080));
//   for (;;) spawn(session(co_await door.accept()));
//
//   tcp_stream s = co_await tcp_connect(address::loopback(8080));
#pragma once

#include "heddle/core/task.hh"
#include "heddle/io/address.hh"
#include "heddle/io/stream.hh"

namespace heddle {

struct listen_options {
  int backlog = 4096;
  bool reuse_address = true;
  bool reuse_port = false;
  bool v6_only = false;
  bool no_delay = true;  ///< of the connections that are accepted
  stream_options streams = {};
  nanoseconds pause = std::chrono::milliseconds(50);  ///< when descriptors or memory run out
};

/// A TCP connection. As stream; see there.
class tcp_stream : public stream {
 public:
  tcp_stream() noexcept = default;
  /// Takes a connected socket of the driver's.
  explicit tcp_stream(int fd, stream_options options = {});

  [[nodiscard]] address local() const;
  [[nodiscard]] address peer() const;
  void set_no_delay(bool on) const;
};

/// Waits for a connection. Cancel: at once, and no connection is lost.
class [[nodiscard("co_await it")]] accept_wait : public wait, public detail::lane_entry {
 public:
  explicit accept_wait(detail::descriptor_state* on) noexcept;
  accept_wait(accept_wait&& other) noexcept;

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  tcp_stream await_resume() {
    detail::check_outcome(outcome);
    return take();
  }
  [[nodiscard]] result<tcp_stream> await_result() {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return take();
  }

  /// Used by the lane.
  void give(int fd, const listen_options& options) noexcept {
    fd_ = fd;
    options_ = &options;
  }

 private:
  [[nodiscard]] tcp_stream take();
  int fd_ = -1;
  const listen_options* options_ = nullptr;
};

/// A socket that takes connections.
///
/// Thread: one color. Owns: the socket, together with its copies.
/// Fails: listen() throws failure, naming the address.
class tcp_listener : public descriptor {
 public:
  tcp_listener() noexcept = default;
  /// Port 0 picks a free one; local() tells which.
  [[nodiscard]] static tcp_listener listen(const address& on, listen_options options = {});

  /// The next connection. Survives a lack of descriptors: it waits and tries again.
  [[nodiscard]] accept_wait accept() const noexcept { return accept_wait(state_); }
  [[nodiscard]] address local() const;
  /// How often accepting had to pause because descriptors or memory had run out.
  [[nodiscard]] std::uint64_t pauses() const noexcept;

 private:
  using descriptor::descriptor;
};

/// Connects. Fails as the system says, connection_refused for one.
[[nodiscard]] task<tcp_stream> tcp_connect(address to, stream_options options = {});

}  // namespace heddle
