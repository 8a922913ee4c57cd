// SPDX-License-Identifier: MIT
// WebSocket frames and the handshake's key.
#include "tamer/websocket.hh"

#include <cctype>

#include "heddle/http/base64.hh"
#include "heddle/http/sha1.hh"
#include "heddle/sched/runtime.hh"

namespace tamer {
namespace {

std::string accept_of(const std::string& key) {
  return heddle::http::to_base64(heddle::http::sha1(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
}

bool has_word(const std::string& text, std::string_view word) {
  std::string low;
  for (const char c : text) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low.find(word) != std::string::npos;
}

std::uint32_t random_bits() {
  return static_cast<std::uint32_t>(driver::main->beneath().io().random());
}

std::string frame(unsigned opcode, std::string body, bool masked) {
  std::string out(1, static_cast<char>(0x80 | opcode));
  const unsigned mark = masked ? 0x80 : 0;
  if (body.size() < 126) {
    out += static_cast<char>(mark | body.size());
  } else {
    const int bytes = body.size() < 65536 ? 2 : 8;
    out += static_cast<char>(mark | (bytes == 2 ? 126U : 127U));
    for (int i = bytes - 1; i >= 0; --i)
      out += static_cast<char>(std::uint64_t{body.size()} >> (8 * i));
  }
  if (masked) {
    const std::uint32_t key = random_bits();
    for (int i = 0; i < 4; ++i) out += static_cast<char>(key >> (8 * i));
    for (std::size_t i = 0; i < body.size(); ++i)
      body[i] = static_cast<char>(static_cast<unsigned char>(body[i]) ^ (key >> (8 * (i % 4))));
  }
  return out + body;
}

}  // namespace

bool websocket_handshake::is_request(const http_message& request) {
  return request.ok() && request.method() == HTTP_GET &&
         has_word(request.header("Upgrade"), "websocket") &&
         has_word(request.header("Connection"), "upgrade") &&
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
      .header("Sec-WebSocket-Accept", accept_of(request.header("Sec-WebSocket-Key")));
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
         response.header("Sec-WebSocket-Accept") == accept_of(key);
}

struct websocket_parser::state {
  explicit state(bool s) noexcept : server(s) {}
  bool server;
  bool ok = true;
  bool close_sent = false;
  std::uint16_t close_code = 0;
  buffer in;
};

websocket_parser::websocket_parser(http_parser_type type)
    : state_(std::make_shared<state>(type == HTTP_REQUEST)) {}
bool websocket_parser::ok() const noexcept { return state_->ok; }
std::uint16_t websocket_parser::close_code() const noexcept { return state_->close_code; }

void websocket_parser::receive(fd f, event<websocket_message> done) {
  read_message(state_, std::move(f), std::move(done));
}

// The wait below is that of translated code: gather and maker.
void websocket_parser::read_message(std::shared_ptr<state> s, fd f, event<websocket_message> done) {
  websocket_message m;
  bool begun = false;
  int r = 0;
  m.ok_ = false;
  while (done && s->ok) {
    // The head, the length, the body: the bytes that are there tell how many are needed.
    std::size_t need = 2;
    std::uint64_t length = 0;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s->in.data()[i]); };
    if (s->in.size() >= 2) {
      const unsigned small = byte(1) & 0x7f;
      const std::size_t extra = small == 126 ? 2 : small == 127 ? 8 : 0;
      const bool masked = (byte(1) & 0x80) != 0;
      if (masked != s->server || (byte(0) & 0x70) != 0) {
        s->ok = false;
        break;
      }
      need = 2 + extra + (masked ? 4 : 0);
      if (s->in.size() >= need) {
        length = extra == 0 ? small : 0;
        for (std::size_t i = 0; i < extra; ++i) length = length << 8 | byte(2 + i);
        if (length > message_max || m.body_.size() + length > message_max) {
          s->ok = false;
          break;
        }
        const std::size_t head = need;
        need += static_cast<std::size_t>(length);
        if (s->in.size() >= need) {
          std::string whole = s->in.take(need);
          const unsigned first = static_cast<unsigned char>(whole[0]);
          std::string body = whole.substr(head);
          if (masked)
            for (std::size_t i = 0; i < body.size(); ++i)
              body[i] = static_cast<char>(body[i] ^ whole[head - 4 + i % 4]);
          const unsigned opcode = first & 15;
          if (opcode == WEBSOCKET_PING) {
            f.write(frame(WEBSOCKET_PONG, std::move(body), !s->server),
                    heddle::function_event<int>([](int) {}));
          } else if (opcode == WEBSOCKET_CLOSE) {
            s->close_code =
                body.size() >= 2
                    ? static_cast<std::uint16_t>(static_cast<unsigned char>(body[0]) << 8 |
                                                 static_cast<unsigned char>(body[1]))
                    : std::uint16_t{1005};
            if (!s->close_sent)
              f.write(frame(WEBSOCKET_CLOSE, body.substr(0, 2), !s->server),
                      heddle::function_event<int>([](int) {}));
            s->close_sent = true;
            s->ok = false;
          } else if (opcode <= WEBSOCKET_BINARY && (opcode == WEBSOCKET_CONTINUATION) == begun) {
            if (!begun) m.opcode_ = static_cast<websocket_opcode>(opcode);
            begun = true;
            m.body_ += body;
            if ((first & 0x80) != 0) {
              m.ok_ = true;
              break;
            }
          } else if (opcode != WEBSOCKET_PONG) {
            s->ok = false;
          }
          continue;
        }
      }
    }
    ::heddle::tame::gather more;
    {
      const ::heddle::tame::maker make_event(more);
      event<int> e = make_event(r);
      done.at_trigger(e.unblocker());
      s->in.fill_more(f, e);
    }
    co_await more;
    if (r < 0) s->ok = false;
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
  std::string body;
  body += static_cast<char>(code >> 8);
  body += static_cast<char>(code & 0xff);
  state_->close_sent = true;
  f.write(frame(WEBSOCKET_CLOSE, body + reason.substr(0, 123), !state_->server), std::move(done));
}

}  // namespace tamer
