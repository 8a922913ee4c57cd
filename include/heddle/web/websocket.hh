// SPDX-License-Identifier: MIT
// WebSocket (RFC 6455), server and client: messages in both directions over one connection.
//
//   task<http::response> echo(http::request& r) {
//     http::websocket ws = co_await http::accept_websocket(r);
//     while (auto m = co_await ws.receive()) co_await ws.send(*m);
//     co_return ws.done();
//   }
//
// Pings are answered, and sent to a peer that is silent, while a task waits in receive(). It never
// waits for the peer to read: pongs, pings and close frames queue behind the messages that are
// being sent, and of several pings the latest is answered. When the server drains, receive() closes
// with 1001 by itself.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"
#include "heddle/web/body_writer.hh"
#include "heddle/web/incoming.hh"

namespace heddle::http {

struct websocket_options {
  /// The longest message, unpacked; a longer one closes the connection with 1009.
  std::uint64_t message_bytes_max = 1 << 20;
  std::uint32_t fragments_max = 1024;  ///< fragments of one message; more are closed with 1009
  /// A peer that sends nothing for this long gets a ping; 0: never.
  nanoseconds ping_after = std::chrono::seconds(30);
  /// A peer that does not answer a ping for this long after it has left is gone: 1006.
  nanoseconds pong_timeout = std::chrono::seconds(20);
  nanoseconds write_timeout = std::chrono::seconds(30);  ///< for the peer to accept one message
  /// For the peer's close frame; begins when ours has left.
  nanoseconds close_timeout = std::chrono::seconds(5);
  /// Whether messages may be compressed (RFC 7692), each by itself; false without zlib. It costs
  /// time, and a secret beside text that a stranger chose can be guessed by the size.
  bool deflate = false;
  std::uint32_t deflate_from = 256;  ///< bytes of a message; smaller ones are not compressed
  /// Server: the subprotocols that it speaks; the first one that the client names too is used.
  /// Client: those to ask for.
  std::vector<std::string> protocols = {};
  /// Server: pages of these origins ("https://example.org") may connect, besides those of the host
  /// that they connect to. "*" allows all. Requests without an Origin come from no page.
  std::vector<std::string> origins = {};
  /// Client: further fields of the handshake's request, such as Origin or Authorization.
  std::vector<std::pair<std::string, std::string>> fields = {};
};

struct websocket_message {
  std::string data;
  bool text = true;  ///< UTF-8; else binary
};

/// How a connection ended.
struct websocket_end {
  std::uint16_t code = 0;  ///< RFC 6455 section 7.4; 1006: without a close frame; 0: not yet
  std::string reason;
  bool by_peer = false;
};

/// Thread: one color. Any task may send, and messages leave in the order of the calls. Any task may
/// receive: one reads at a time, and the others wait.
/// Owns: the connection, which is closed when this ends.
/// Cancel: a cancelled receive() has taken nothing. A cancelled send() may have sent a part; then
///   the connection is reset, and messages after it are not sent. After a cancelled close() the
///   close frame leaves all the same.
class websocket {
 public:
  struct session;

  explicit websocket(std::unique_ptr<session> of) noexcept;
  websocket(websocket&&) noexcept;
  websocket& operator=(websocket&&) noexcept;
  ~websocket();

  /// The next message; nothing when the connection has ended, however: see ended().
  [[nodiscard]] task<std::optional<websocket_message>> receive();
  /// Sends a message in one frame. Ends when the system has taken the bytes, which must stay until
  /// then.
  /// Fails: throws failure: invalid_argument for text that is not UTF-8, broken_pipe after the end,
  ///   timed_out past write_timeout, and the connection's errors.
  [[nodiscard]] task<> send(std::string_view text);
  [[nodiscard]] task<> send_binary(std::string_view bytes);
  template <class Message = websocket_message>
    requires std::same_as<std::remove_cvref_t<Message>, websocket_message>
  [[nodiscard]] task<> send(Message&& m) {
    heddle::detail::check_options<Message>();
    return send_message(m);
  }
  /// Sends a close frame behind the messages that are being sent, and waits for the peer's, for
  /// close_timeout at most from then on; messages that come meanwhile are dropped unless a task is
  /// in receive(). Fails: invalid_argument for a code that
  /// must not be sent, or a reason beyond 123 bytes of UTF-8.
  [[nodiscard]] task<> close(std::uint16_t code = 1000, std::string_view reason = {});

  [[nodiscard]] const websocket_end& ended() const noexcept;
  /// The subprotocol; empty if there is none.
  [[nodiscard]] const std::string& protocol() const noexcept;
  /// The response that a handler returns.
  [[nodiscard]] static response done();

 private:
  [[nodiscard]] task<> send_message(const websocket_message& m);

  std::unique_ptr<session> session_;
};

using websocket_talk = std::move_only_function<task<>(websocket)>;

namespace detail {
[[nodiscard]] task<websocket> accept_with(request& asked, websocket_options options);
[[nodiscard]] task<response> hand_to_with(request& asked, websocket_talk talk,
                                          websocket_options options);
[[nodiscard]] task<websocket> connect_with(stream connection, std::string host, std::string target,
                                           websocket_options options);
}  // namespace detail

/// The options of the functions below: websocket_options, or its members in braces.
template <class Options>
concept websocket_options_like = std::constructible_from<websocket_options, Options>;

/// Answers the handshake of a request, over HTTP/1.1 (RFC 6455) or HTTP/2 (RFC 8441). Fails: throws
/// status_error, which becomes the answer: 426 if the client asks for no WebSocket of version 13,
/// 400 for a malformed handshake, 403 for a page of another origin.
[[nodiscard]] inline task<websocket> accept_websocket(request& asked) {
  return detail::accept_with(asked, websocket_options());
}
template <websocket_options_like Options = websocket_options>
[[nodiscard]] task<websocket> accept_websocket(request& asked, Options&& options) {
  heddle::detail::check_options<Options>();
  return detail::accept_with(asked, std::forward<Options>(options));
}

/// Hands over a connection that stays long: `talk` runs when the request and its memory are gone,
/// so that one that waits holds little more than its stream. Return the response.
///
///   co_return co_await http::hand_to_websocket(r, [](http::websocket ws) -> task<> {
///     while (auto m = co_await ws.receive()) co_await ws.send(*m);
///   });
template <class Talk>
  requires std::constructible_from<websocket_talk, Talk>
[[nodiscard]] task<response> hand_to_websocket(request& asked, Talk&& talk) {
  heddle::detail::check_closures<Talk>();
  return detail::hand_to_with(asked, std::forward<Talk>(talk), websocket_options());
}
template <class Talk, websocket_options_like Options = websocket_options>
  requires std::constructible_from<websocket_talk, Talk>
[[nodiscard]] task<response> hand_to_websocket(request& asked, Talk&& talk, Options&& options) {
  heddle::detail::check_closures<Talk>();
  heddle::detail::check_options<Options>();
  return detail::hand_to_with(asked, std::forward<Talk>(talk), std::forward<Options>(options));
}

/// The client's side, on a connection that was made. `host` is for the Host field, `target` a path.
/// Fails: throws failure: connection_refused with the server's status if it does not agree,
///   bad_message for an answer that is no handshake, connection_reset if the connection ends before
///   the answer is whole, timed_out after close_timeout without one.
[[nodiscard]] inline task<websocket> connect_websocket(stream connection, std::string host,
                                                       std::string target) {
  return detail::connect_with(std::move(connection), std::move(host), std::move(target),
                              websocket_options());
}
template <websocket_options_like Options = websocket_options>
[[nodiscard]] task<websocket> connect_websocket(stream connection, std::string host,
                                                std::string target, Options&& options) {
  heddle::detail::check_options<Options>();
  return detail::connect_with(std::move(connection), std::move(host), std::move(target),
                              std::forward<Options>(options));
}

}  // namespace heddle::http
