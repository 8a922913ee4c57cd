// SPDX-License-Identifier: MIT
// Connections and listeners of Draft: handles of heddle/abi.h. The end of a stream is error.eof.
//
//   const draft::listener l = draft::listen(7777);
//   draft::conn c = co_await l.accept();
//   draft::buffer got = co_await c.receive();
//   co_await c.write(got);
#pragma once

#include <cstring>
#include <string_view>

#include "heddle/abi/handles.hh"
#include "heddle/draft/buffer.hh"
#include "heddle/draft/operation.hh"

namespace heddle::from_draft {

/// The direction that ready() waits for.
enum class mode : std::int32_t { read = heddle_mode_read, write = heddle_mode_write };

/// Thread: one color at a time; it may move to another one, by spawn() or a channel.
/// Owns: the connection, which its end closes.
class conn {
 public:
  using handle_type = heddle_conn;

  conn() noexcept = default;
  explicit conn(heddle_conn* made) noexcept : raw_(made) {}
  explicit conn(tcp_stream s) : raw_(abi::make_conn(std::move(s))) {}

  /// The stream itself, to go on with in Heddle's terms.
  [[nodiscard]] tcp_stream stream() const noexcept { return abi::stream_of(*raw_); }
  [[nodiscard]] heddle_conn* raw() const noexcept { return raw_.get(); }
  /// The color of its number, for a thread of its own.
  [[nodiscard]] heddle::color color() const noexcept {
    return heddle::color(heddle_conn_number(raw()));
  }

  /// The bytes that arrived, in a buffer of the driver. Fails: error.eof at the end of the stream.
  [[nodiscard]] auto receive() const { return detail::ask<heddle_receive, buffer>(raw()); }
  /// Waits until there is something to read, or the end.
  [[nodiscard]] auto readable() const { return detail::ask<heddle_readable>(raw()); }
  /// Waits until there is something to read, or room to send.
  [[nodiscard]] auto ready(mode which) const {
    return detail::ask<heddle_ready>(raw(), static_cast<std::int32_t>(which));
  }
  /// Appends what arrived, at least one byte; how many. Fails: error.full without room.
  [[nodiscard]] auto read(buffer& to) const {
    return detail::ask<heddle_read, std::int64_t>(raw(), to.raw());
  }
  /// Appends what arrived, at least one byte. Fails: error.too_big without room.
  [[nodiscard]] auto read_more(buffer& to) const {
    return detail::ask<heddle_read_more>(raw(), to.raw());
  }
  /// The next line with its line end. It lies in the buffer until the next call.
  [[nodiscard]] auto read_line(buffer& to) const {
    return detail::ask<heddle_read_line, std::string_view>(raw(), to.raw());
  }
  /// Sends all of it.
  [[nodiscard]] auto write(std::string_view what) const {
    return detail::ask<heddle_write>(raw(), to_c(what));
  }
  /// No more is written: the peer sees the end.
  void shutdown() const { check_status(heddle_shutdown(this_worker(), raw())); }
  /// Closes it now instead of at its end.
  void close() noexcept { raw_.reset(); }
  /// Takes the connection to this color before the stream is used.
  [[nodiscard]] auto come_here() const { return detail::ask<abi::bring_here>(raw()); }

 private:
  detail::owned_handle<heddle_conn, heddle_close> raw_;
};

/// Thread: one color. Owns: the socket.
class listener {
 public:
  listener() noexcept = default;
  explicit listener(heddle_listener* made) noexcept : raw_(made) {}
  explicit listener(tcp_listener door) : raw_(abi::make_listener(std::move(door))) {}
  /// Waits for a connection.
  [[nodiscard]] auto accept() const { return detail::ask<heddle_accept, conn>(raw_.get()); }
  /// The port, also where 0 was asked for.
  [[nodiscard]] std::uint16_t port() const noexcept {
    return heddle_listener_port(this_worker(), raw_.get());
  }

 private:
  detail::owned_handle<heddle_listener, heddle_listener_close> raw_;
};

/// The address of a numeric host, as 127.0.0.1 or ::1. Throws error.invalid.
[[nodiscard]] inline heddle::address address(std::string_view host, std::uint16_t port) {
  const result<heddle::address> found = heddle::address::parse(host, port);
  if (!found) throw error("invalid");
  return found->with_port(port);
}
/// Listens on a TCP port; port 0 takes a free one.
[[nodiscard]] inline listener listen(std::uint16_t port, std::string_view host = "127.0.0.1") {
  return listener(detail::made<heddle_listener>(
      [&](heddle_listener** out) { return heddle_listen(this_worker(), port, to_c(host), out); }));
}
/// Listens on a Unix socket; a path that begins with @ is in no folder.
[[nodiscard]] inline listener listen_unix(std::string_view path) {
  return listener(detail::made<heddle_listener>(
      [&](heddle_listener** out) { return heddle_listen_unix(this_worker(), to_c(path), out); }));
}
/// Connects to a Unix socket.
[[nodiscard]] inline auto connect_unix(std::string_view path) {
  return detail::ask<heddle_connect_unix, conn>(to_c(path));
}
/// Connects to an address.
[[nodiscard]] inline auto connect(heddle::address to) {
  heddle_address raw;
  static_assert(sizeof raw == sizeof to);
  std::memcpy(&raw, static_cast<const void*>(&to), sizeof raw);
  return detail::ask<heddle_connect, conn>(raw);
}

}  // namespace heddle::from_draft
