// SPDX-License-Identifier: MIT
// WebSocket frames and the handshake's key.
#include "tamer/websocket.hh"

#include <span>

#include "heddle/http/base64.hh"
#include "heddle/http/detail/websocket_accept.hh"
#include "heddle/http/detail/websocket_frames.hh"
#include "heddle/http/headers.hh"
#include "heddle/sched/runtime.hh"

namespace tamer {

using heddle::http::list_has_token;
using heddle::http::websocket_accept_of;
using heddle::http::websocket_code;
using heddle::http::websocket_reader;

namespace {

std::uint32_t random_bits() {
  return static_cast<std::uint32_t>(driver::main->beneath().io().random());
}

std::string frame(unsigned opcode, std::string body, bool masked) {
  const std::uint32_t mask = masked ? random_bits() : 0;
  if (masked) heddle::http::mask_websocket(body.data(), body.size(), mask, 0);
  const auto what = static_cast<heddle::http::websocket_opcode>(opcode);
  return std::string(heddle::http::make_websocket_head(what, true, false, body.size(), masked, mask)
                         .text()) +
         body;
}

std::string code_bytes(std::uint16_t code) {
  return {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
}

}  // namespace

bool websocket_handshake::is_request(const http_message& request) {
  return request.ok() && request.method() == HTTP_GET &&
         list_has_token(request.header("Upgrade"), "websocket") &&
         list_has_token(request.header("Connection"), "upgrade") &&
         request.header("Sec-WebSocket-Version") == "13" && request.has_header("Sec-WebSocket-Key");
}
bool websocket_handshake::response(http_message& out, const http_message& request) {
  out.clear();
  if (!is_request(request)) {
    out.status_code(426).header("Sec-WebSocket-Version", "13");
    return false;
  }
  out.status_code(101)
      .header("Upgrade", "websocket")
      .header("Connection", "Upgrade")
      .header("Sec-WebSocket-Accept", websocket_accept_of(request.header("Sec-WebSocket-Key")));
  return true;
}
std::string websocket_handshake::request(http_message& out) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t four = random_bits();
    for (int j = 0; j < 4; ++j) bytes += static_cast<char>(four >> (8 * j));
  }
  const std::string key = heddle::http::to_base64(bytes);
  out.header("Upgrade", "websocket")
      .header("Connection", "Upgrade")
      .header("Sec-WebSocket-Version", "13")
      .header("Sec-WebSocket-Key", key);
  return key;
}
bool websocket_handshake::is_response(const http_message& response, const std::string& key) {
  return response.ok() && response.status_code() == 101 &&
         response.header("Sec-WebSocket-Accept") == websocket_accept_of(key);
}

struct websocket_parser::state {
  explicit state(bool s) noexcept : server(s), reader({message_max, fragments_max, s, nullptr}) {}
  static constexpr std::uint32_t fragments_max = 1 << 20;
  bool server;
  bool ok = true;
  bool close_sent = false;
  std::uint16_t close_code = 0;
  buffer in;
  std::string bytes;     // the last that came
  std::span<char> rest;  // the part of them that the reader has not taken
  websocket_reader reader;
};

websocket_parser::websocket_parser(http_parser_type type)
    : state_(std::make_shared<state>(type == HTTP_REQUEST)) {}
bool websocket_parser::ok() const noexcept { return state_->ok; }
std::uint16_t websocket_parser::close_code() const noexcept { return state_->close_code; }

void websocket_parser::receive(fd f, event<websocket_message> done) {
  read_message(state_, std::move(f), std::move(done));
}

// The wait below is written as the translator writes it: with gather and maker.
void websocket_parser::read_message(std::shared_ptr<state> s, fd f, event<websocket_message> done) {
  websocket_message m;
  int r = 0;
  m.ok_ = false;
  const auto answer = [&](unsigned opcode, std::string body) {
    f.write(frame(opcode, std::move(body), !s->server), heddle::function_event<int>([](int) {}));
  };
  while (done && s->ok && !m.ok_) {
    using enum websocket_reader::event;
    switch (s->reader.read(s->rest)) {
      case message:
        m.opcode_ = s->reader.is_text() ? WEBSOCKET_TEXT : WEBSOCKET_BINARY;
        m.body_ = s->reader.take_message();
        m.ok_ = true;
        continue;
      case ping:
        answer(WEBSOCKET_PONG, std::string(s->reader.control()));
        continue;
      case pong:
        continue;
      case close:
        s->close_code = s->reader.code();
        if (!s->close_sent)
          answer(WEBSOCKET_CLOSE,
                 s->close_code == websocket_code::none ? std::string() : code_bytes(s->close_code));
        s->close_sent = true;
        s->ok = false;
        continue;
      case failed:
        s->ok = false;
        continue;
      case more:
        break;
    }
    ::heddle::tame::gather more_bytes;
    {
      const ::heddle::tame::maker make_event(more_bytes);
      event<int> e = make_event(r);
      done.at_trigger(e.unblocker());
      s->in.fill_more(f, e);
    }
    co_await more_bytes;
    if (r < 0) s->ok = false;
    s->bytes = s->in.take(s->in.size());
    s->rest = s->bytes;
  }
  done.trigger(std::move(m));
  co_return;
}

void websocket_parser::send(fd f, const websocket_message& message, event<> done) {
  f.write(frame(message.opcode(), message.body(), !state_->server), std::move(done));
}
void websocket_parser::send_text(fd f, std::string text, event<> done) {
  f.write(frame(WEBSOCKET_TEXT, std::move(text), !state_->server), std::move(done));
}
void websocket_parser::send_binary(fd f, std::string bytes, event<> done) {
  f.write(frame(WEBSOCKET_BINARY, std::move(bytes), !state_->server), std::move(done));
}
void websocket_parser::close(fd f, std::uint16_t code, std::string reason, event<> done) {
  state_->close_sent = true;
  f.write(frame(WEBSOCKET_CLOSE, code_bytes(code) + reason.substr(0, 123), !state_->server),
          std::move(done));
}

}  // namespace tamer
