// SPDX-License-Identifier: MIT
// Connections and listeners of Draft on Heddle's tcp_stream and tcp_listener. A read waits until
// the socket is readable and then takes what is there, so one that is withdrawn took nothing. The
// end of the stream is error.eof.
//
//   const draft::listener l = draft::listen(7777);
//   draft::conn c = co_await l.accept();
//   draft::buffer got = co_await c.receive();
//   co_await c.write(got);
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string_view>

#include "heddle/core/enter.hh"
#include "heddle/core/message.hh"
#include "heddle/draft/buffer.hh"
#include "heddle/draft/operation.hh"
#include "heddle/io/tcp.hh"

namespace heddle::from_draft {

namespace detail {

/// Thread: the color that uses it. The driver receives ahead of the readers in the color that read
/// last; the first operation in another color ends that there.
struct conn_state {
  explicit conn_state(tcp_stream s) noexcept : stream(std::move(s)) {}

  [[nodiscard]] bool reads_elsewhere() const noexcept {
    return reads_in != no_color && reads_in != worker::running().color;
  }
  static task<> detach_in(color home, tcp_stream s) {
    co_await enter(home);
    co_await s.detach();
  }
  /// Takes the connection to the running color.
  task<> come_here() {
    if (!reads_elsewhere()) co_return;
    co_await detach_in(color(reads_in), stream);
    reads_in = no_color;
  }
  /// A block that has arrived, if there is one. Throws error.eof at the end of the stream.
  [[nodiscard]] bool has_block() {
    if (reads_elsewhere()) return false;
    if (rest.empty()) {
      rest = stream.take();
      rest_at = 0;
    }
    if (!rest.empty()) return true;
    if (failed) throw error(*std::exchange(failed, std::nullopt));
    if (std::exchange(at_end, false)) throw error("eof");
    return false;
  }
  /// Until has_block() may be true. Does not throw.
  task<> ready() {
    try {
      co_await come_here();
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::operation_canceled) failed = error::of(e.code());
      co_return;
    }
    reads_in = worker::running().color;
    const result<bool> more = co_await as_expected(stream.readable());
    if (more)
      at_end = !*more;
    else if (more.error() != std::errc::operation_canceled)
      failed = error::of(more.error());
  }
  /// Appends what has arrived to a buffer that has room; how many bytes.
  std::int64_t take_into(heddle_buffer& to) noexcept {
    heddle_buffer_pack(&to);
    const std::size_t count = std::min(to.capacity - to.end, rest.size() - rest_at);
    std::memcpy(to.data + to.end, rest.data().data() + rest_at, count);
    to.end += count;
    rest_at += count;
    if (rest_at == rest.size()) rest.release();
    return static_cast<std::int64_t>(count);
  }

  tcp_stream stream;
  received rest;  ///< a block of which a reader with little room took only a part
  std::size_t rest_at = 0;
  std::uint32_t reads_in = no_color;
  bool at_end = false;
  std::optional<error> failed;
};

/// The connection closes where the driver may be receiving for it.
struct close_conn {
  void operator()(conn_state* c) const {
    worker* const w = worker::current();
    if (w != nullptr && c->reads_in != no_color && c->reads_in != w->color)
      send_urgent_message(*w, c->reads_in, [c] { delete c; });
    else
      delete c;
  }
};

template <class T>
class conn_steps : public steps<T> {
 public:
  explicit conn_steps(conn_state& c) noexcept : conn_(c) {}
  task<> ready() override { return conn_.ready(); }

 protected:
  conn_state& conn_;
};

struct receive_steps final : conn_steps<buffer> {
  using conn_steps::conn_steps;
  std::optional<buffer> poll() override {
    if (!conn_.has_block()) return std::nullopt;
    return buffer(std::move(conn_.rest), std::exchange(conn_.rest_at, 0));
  }
};
struct readable_steps final : conn_steps<void> {
  using conn_steps::conn_steps;
  std::optional<std::monostate> poll() override {
    if (conn_.at_end || conn_.has_block()) return std::monostate();  // the next read has the error
    return std::nullopt;
  }
};
/// `full` is the error of a buffer without room.
struct read_steps final : conn_steps<std::int64_t> {
  read_steps(conn_state& c, buffer& to, const char* full_is) noexcept
      : conn_steps(c), into(to), full(full_is) {}
  std::optional<std::int64_t> poll() override {
    if (into.room() == 0) throw error(full);
    if (!conn_.has_block()) return std::nullopt;
    return conn_.take_into(*into.raw());
  }
  buffer& into;
  const char* full;
};
struct read_more_steps final : conn_steps<void> {
  read_more_steps(conn_state& c, buffer& to) noexcept : conn_steps(c), into(to) {}
  std::optional<std::monostate> poll() override {
    if (into.room() == 0) throw error("too_big");
    if (!conn_.has_block()) return std::nullopt;
    conn_.take_into(*into.raw());
    return std::monostate();
  }
  buffer& into;
};
struct read_line_steps final : conn_steps<std::string_view> {
  read_line_steps(conn_state& c, buffer& to) noexcept : conn_steps(c), into(*to.raw()) {
    into.begin += into.line;  // the line of the call before ends here
    into.line = 0;
  }
  std::optional<std::string_view> poll() override {
    for (;;) {
      const std::string_view all(into.data + into.begin, into.end - into.begin);
      if (const std::size_t end = all.find('\n'); end != std::string_view::npos)
        return line(all.substr(0, end + 1));
      if (all.size() == into.capacity) throw error("too_big");
      try {
        if (!conn_.has_block()) return std::nullopt;
      } catch (const error& e) {
        if (all.empty() || !(e == error("eof"))) throw;
        return line(all);  // a last line without its end
      }
      conn_.take_into(into);
    }
  }
  [[nodiscard]] std::string_view line(std::string_view found) noexcept {
    into.line = found.size();
    return found;
  }
  heddle_buffer& into;
};

}  // namespace detail

/// Thread: one color at a time; it may move to another one, by spawn() or a channel.
/// Owns: the connection, which its end closes.
class conn {
 public:
  conn() noexcept = default;
  explicit conn(tcp_stream s) : state_(new detail::conn_state(std::move(s))) {}

  /// The stream itself, to go on with in Heddle's terms.
  [[nodiscard]] tcp_stream& stream() const noexcept { return state_->stream; }
  /// The color of its number, for a thread of its own.
  [[nodiscard]] heddle::color color() const noexcept {
    return heddle::color(state_->stream.number());
  }

  /// The bytes that arrived, in a buffer of the driver. Fails: error.eof at the end of the stream.
  [[nodiscard]] operation<buffer> receive() const {
    return operation<buffer>(std::make_unique<detail::receive_steps>(*state_));
  }
  /// Waits until there is something to read, or the end.
  [[nodiscard]] operation<void> readable() const {
    return operation<void>(std::make_unique<detail::readable_steps>(*state_));
  }
  /// Appends what arrived, at least one byte; how many. Fails: error.full without room.
  [[nodiscard]] operation<std::int64_t> read(buffer& to) const {
    return operation<std::int64_t>(std::make_unique<detail::read_steps>(*state_, to, "full"));
  }
  /// Appends what arrived, at least one byte. Fails: error.too_big without room.
  [[nodiscard]] operation<void> read_more(buffer& to) const {
    return operation<void>(std::make_unique<detail::read_more_steps>(*state_, to));
  }
  /// The next line with its line end. It lies in the buffer until the next call.
  [[nodiscard]] operation<std::string_view> read_line(buffer& to) const {
    return operation<std::string_view>(std::make_unique<detail::read_line_steps>(*state_, to));
  }
  /// Sends all of it.
  [[nodiscard]] task<> write(std::string_view what) const { return write_all(*state_, what); }
  /// No more is written: the peer sees the end.
  void shutdown() const { state_->stream.shutdown_write(); }
  /// Closes it now instead of at its end.
  void close() noexcept { state_.reset(); }
  /// Takes the connection to this color before the stream is used.
  [[nodiscard]] task<> come_here() const { return state_->come_here(); }

 private:
  static task<> write_all(detail::conn_state& c, std::string_view what) {
    co_await c.come_here();
    if (what.empty()) co_return;
    check_canceled();
    const std::size_t sent = c.stream.try_write(byte_view(what));
    if (sent == what.size()) co_return;
    value_of(co_await as_expected(c.stream.write(byte_view(what.substr(sent)))));
  }
  std::unique_ptr<detail::conn_state, detail::close_conn> state_;
};

namespace detail {
struct listener_state {
  tcp_listener door;
  std::deque<tcp_stream> taken;  ///< for the next accept
  std::optional<error> failed;
};
struct accept_steps final : steps<conn> {
  explicit accept_steps(listener_state& of) noexcept : from(of) {}
  std::optional<conn> poll() override {
    if (from.failed) throw error(*std::exchange(from.failed, std::nullopt));
    if (from.taken.empty()) return std::nullopt;
    conn c(std::move(from.taken.front()));
    from.taken.pop_front();
    return c;
  }
  task<> ready() override {
    result<tcp_stream> got = co_await as_expected(from.door.accept());
    if (got)
      from.taken.push_back(std::move(*got));
    else if (got.error() != std::errc::operation_canceled)
      from.failed = error::of(got.error());
  }
  listener_state& from;
};
}  // namespace detail

/// Thread: one color. Owns: the socket.
class listener {
 public:
  listener() noexcept = default;
  explicit listener(tcp_listener door) : state_(std::make_unique<detail::listener_state>()) {
    state_->door = std::move(door);
  }
  /// Waits for a connection.
  [[nodiscard]] operation<conn> accept() const {
    return operation<conn>(std::make_unique<detail::accept_steps>(*state_));
  }
  /// The port, also where 0 was asked for.
  [[nodiscard]] std::uint16_t port() const noexcept { return state_->door.local().port(); }

 private:
  std::unique_ptr<detail::listener_state> state_;
};

/// The address of a numeric host, as 127.0.0.1 or ::1. Throws error.invalid.
[[nodiscard]] inline heddle::address address(std::string_view host, std::uint16_t port) {
  const result<heddle::address> found = heddle::address::parse(host, port);
  if (!found) throw error("invalid");
  return found->with_port(port);
}
/// Listens on a TCP port; port 0 takes a free one.
[[nodiscard]] inline listener listen(std::uint16_t port, std::string_view host = "127.0.0.1") {
  return listener(tcp_listener::listen(address(host, port)));
}
/// Connects to an address.
[[nodiscard]] inline task<conn> connect(heddle::address to) {
  check_canceled();
  co_return conn(value_of(co_await as_expected(tcp_connect(to))));
}

}  // namespace heddle::from_draft
