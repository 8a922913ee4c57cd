// SPDX-License-Identifier: MIT
// One WebSocket connection: the stream, the bytes that are not read yet, and the state of its end.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/http/detail/websocket_frames.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/web/websocket.hh"
#include "web/websocket_outbox.hh"

namespace heddle::http {

/// The result of the handshake.
struct websocket_agreement {
  std::string protocol = {};
  std::uint8_t deflate_bits = 0;  ///< the window of what is sent compressed; 0: nothing is
};

/// The state of a connection's end.
///
///   open      messages go both ways
///   closing   our close frame was sent, or waits for room; messages still arrive
///   leaving   the same because the server stops: messages that arrive are dropped
///   over      nothing is read or sent any more; `how` says why
///
/// Builds with sanitizers, and those without NDEBUG, check each move: it goes down in this list.
enum class websocket_phase : std::uint8_t { open, closing, leaving, over };

[[nodiscard]] constexpr bool is_legal(websocket_phase from, websocket_phase to) noexcept {
  return from < to && !(from == websocket_phase::open && to == websocket_phase::leaving);
}

/// The state of one connection. Thread: one color.
struct websocket::session {
  session(stream connection, std::string_view early_bytes, const websocket_options& o, bool server,
          websocket_agreement agreed,
          std::shared_ptr<cancel_source> drained_by = std::make_shared<cancel_source>());
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Reads the next message; nothing at the end. One task reads at a time, the others wait in line.
  /// `dropping`: drops messages until the end, until answer_limit, or until another task waits in
  /// line, which then goes on with the bytes where this one stopped.
  [[nodiscard]] task<std::optional<websocket_message>> read(bool dropping);
  /// Waits for the turn to read; with `dropping` until answer_limit, and closes the connection
  /// then. False: the turn was not given.
  [[nodiscard]] task<bool> wait_to_read(mutex::hold& turn, bool dropping);

  /// Sends a message.
  [[nodiscard]] task<> write_frame(websocket_opcode what, std::string_view payload);
  /// Sends a control frame behind the messages that wait. The caller does not wait for that, so
  /// that it can go on reading.
  void send_control(websocket_opcode what, std::string_view payload);
  /// Sends a close frame in the same way, unless one was sent before.
  void begin_close(std::uint16_t code, std::string_view reason);
  /// Waits until the close frame has left, or the connection has failed.
  [[nodiscard]] task<> close_sent();
  /// Ends writing behind the close frame, and meanwhile reads and drops until the peer closes, for
  /// close_timeout at most: to close a connection with unread bytes would reset it, and the peer
  /// might not see the close frame (RFC 6455 section 7.1.1).
  [[nodiscard]] task<> linger();
  /// Ends writing, also if the connection is gone already.
  void end_writing() noexcept;
  /// Our ping or close frame has left.
  void answer_is_due(bool closed) noexcept;
  /// The limit of a wait for bytes. A frame that the peer must answer may leave during the wait, so
  /// look at answer_limit when the wait has timed out.
  [[nodiscard]] time_point limit_of_wait() const noexcept;
  /// Waits for more bytes; false when none will come.
  [[nodiscard]] task<bool> more();
  /// Handles a wait for bytes that ended without any; returns whether to go on waiting.
  [[nodiscard]] task<bool> nothing_came(std::error_code why);
  void move_to(websocket_phase next) noexcept {
    check_move(phase, next);
    phase = next;
  }
  [[nodiscard]] bool is_open() const noexcept { return phase == websocket_phase::open; }
  [[nodiscard]] bool is_over() const noexcept { return phase == websocket_phase::over; }
  /// Whether a task that drops messages leaves the turn to read to one that receives them.
  [[nodiscard]] bool receiver_in_line() const noexcept {
    return receivers_waiting != 0 && to_read.waiting() != 0;
  }
  /// Notes how the connection ends. The first call decides.
  void note_end(std::uint16_t code, std::string_view reason, bool by_peer);
  /// Ends the connection.
  void end(std::uint16_t code, std::string_view reason, bool by_peer);

  stream connection;
  received block;      // the latest that came; at first the bytes behind the handshake
  std::span<char> in;  // bytes of the block that were not read yet
  websocket_reader reader;
  // The server's, until it has told that it stops; else one that is never cancelled.
  std::shared_ptr<cancel_source> draining;
  nanoseconds ping_after;
  nanoseconds pong_timeout;
  nanoseconds write_timeout;
  nanoseconds close_timeout;
  // For the peer's answer to our ping, or to our close frame; `never` until that frame has left.
  time_point answer_limit = never;
  websocket_outbox* outbox = nullptr;           // the control frames that have not left
  std::unique_ptr<const websocket_end> how;     // null: not known yet
  std::unique_ptr<const std::string> protocol;  // null: none
  std::uint32_t deflate_from;
  std::uint8_t deflate_bits;  // 0: nothing is compressed
  bool is_server;
  bool pinged = false;  // a ping was asked for since bytes came
  websocket_phase phase = websocket_phase::open;
  // Tasks in receive() that wait for the turn to read, or whose wait has ended without it and which
  // have not run since.
  std::uint16_t receivers_waiting = 0;
  mutex to_read;
};

}  // namespace heddle::http
