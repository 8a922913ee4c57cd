// SPDX-License-Identifier: MIT
// WebSocket over a tamer::fd, after a handshake of two http_messages (RFC 6455). Control frames are
// answered by the parser: pings by pongs, a close by a close.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tamer/http.hh"

namespace tamer {

enum websocket_opcode {
  WEBSOCKET_CONTINUATION = 0,
  WEBSOCKET_TEXT = 1,
  WEBSOCKET_BINARY = 2,
  WEBSOCKET_CLOSE = 8,
  WEBSOCKET_PING = 9,
  WEBSOCKET_PONG = 10,
};

/// Thread: any, one at a time. Owns: its body.
class websocket_message {
 public:
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] explicit operator bool() const noexcept { return ok_; }
  [[nodiscard]] bool operator!() const noexcept { return !ok_; }
  [[nodiscard]] websocket_opcode opcode() const noexcept { return opcode_; }
  [[nodiscard]] bool text() const noexcept { return opcode_ == WEBSOCKET_TEXT; }
  [[nodiscard]] bool binary() const noexcept { return opcode_ == WEBSOCKET_BINARY; }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }

  websocket_message& clear() { return *this = websocket_message(); }
  websocket_message& opcode(websocket_opcode c) noexcept {
    opcode_ = c;
    return *this;
  }
  websocket_message& body(std::string b) {
    body_ = std::move(b);
    return *this;
  }
  websocket_message& text(std::string b) { return opcode(WEBSOCKET_TEXT).body(std::move(b)); }
  websocket_message& binary(std::string b) { return opcode(WEBSOCKET_BINARY).body(std::move(b)); }

 private:
  friend class websocket_parser;
  bool ok_ = true;
  websocket_opcode opcode_ = WEBSOCKET_TEXT;
  std::string body_;
};

/// The opening handshake.
class websocket_handshake {
 public:
  [[nodiscard]] static bool is_request(const http_message& request);
  /// Makes the response that accepts; false when the request asks for no WebSocket.
  static bool response(http_message& out, const http_message& request);
  /// Adds the fields of a client's request, and gives the key to check the response by.
  static std::string request(http_message& out);
  [[nodiscard]] static bool is_response(const http_message& response, const std::string& key);
};

/// Thread: the runtime's.
/// Cancel: an operation whose event becomes empty stops.
/// Fails: with a message that is not ok(), after a close or an error; ok() is false from then on.
class websocket_parser {
 public:
  static constexpr std::size_t message_max = std::size_t{16} << 20;

  /// HTTP_REQUEST: the server's side, which receives masked frames. HTTP_RESPONSE: the client's.
  explicit websocket_parser(http_parser_type type);

  [[nodiscard]] bool ok() const noexcept;
  /// The code of the close frame that came; 0 when none has.
  [[nodiscard]] std::uint16_t close_code() const noexcept;

  void receive(fd f, event<websocket_message> done);
  void send(fd f, const websocket_message& message, event<> done);
  void send_text(fd f, std::string text, event<> done);
  void send_binary(fd f, std::string bytes, event<> done);
  void close(fd f, std::uint16_t code, std::string reason, event<> done);

 private:
  struct state;
  static void read_message(std::shared_ptr<state> s, fd f, event<websocket_message> done);
  std::shared_ptr<state> state_;
};

}  // namespace tamer
