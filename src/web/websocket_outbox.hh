// SPDX-License-Identifier: MIT
// The control frames of a WebSocket that have not left (RFC 6455 section 5.5). A function of their
// own writes them behind the messages that wait, so the task that reads goes on reading: two ends
// that both wait for room to answer a ping would otherwise wait for each other.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/tamed.hh"
#include "heddle/http/detail/websocket_frames.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/latch.hh"
#include "heddle/web/websocket.hh"

namespace heddle::http {

/// A frame with its payload, masked if a client sends it.
[[nodiscard]] std::string whole_frame(websocket_opcode what, std::string_view payload, bool masked);

/// The frames of one session, at most one of each kind: only the latest ping is answered (section
/// 5.5.3), and no frame follows a close frame. Thread: one color. Owned by the function that
/// writes, which the session's end does not wait for; the session refers to it until all has left.
struct websocket_outbox : std::enable_shared_from_this<websocket_outbox> {
  explicit websocket_outbox(websocket::session& s) noexcept;
  websocket_outbox(const websocket_outbox&) = delete;
  ~websocket_outbox() { leave(); }

  [[nodiscard]] bool empty() const noexcept { return !pings && !pongs && !closes; }
  void add(websocket_opcode what, std::string_view payload);
  /// The frames, which are taken.
  [[nodiscard]] std::string take(bool masked);
  /// Writes until nothing is left. Bytes that the socket takes at once leave before the call ends.
  /// A failure ends the connection.
  static tamed write(std::shared_ptr<websocket_outbox> box, stream to, nanoseconds write_timeout);

  websocket::session* of;   ///< null when it has ended
  std::string latest_ping;  ///< the payload that a pong sends back
  std::string reason;       ///< the close frame's payload
  bool pings = false;
  bool pongs = false;
  bool closes = false;
  bool ends = false;  ///< writing ends behind the close frame
  latch all_left{1};  ///< open when nothing is left, and when the connection has failed

 private:
  /// The session does without it from now on.
  void leave() noexcept;
};

}  // namespace heddle::http
