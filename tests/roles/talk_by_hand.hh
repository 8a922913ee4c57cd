// SPDX-License-Identifier: MIT
// A client of WebSocket that writes and reads frames itself: fragments, pings between them, and
// both ends' close frames, for what our own client never sends.
#pragma once

#include <string>
#include <utility>

#include "roles/talk.hh"
#include "roles/wire.hh"

namespace heddle::test::roles {

class frames_by_hand {
 public:
  frames_by_hand(talk& of, stream on) : t_(of), on_(std::move(on)), in_(on_) {}

  /// Talks until the server's close frame, or the end of the connection.
  static task<> run(scope& tasks, frames_by_hand& self, std::string host) {
    const std::string asks = "GET /ws/" + std::to_string(self.t_.p.id) +
                             " HTTP/1.1\r\nHost: " + host +
                             "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                             "Sec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    co_await self.on_.write(std::string_view(asks));
    const std::optional<wire_head> head = co_await self.in_.head();
    if (!head || head->status() != 101) co_return;
    EXPECT_EQ(head->field("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(head->field("sec-websocket-extensions"), "") << "nobody asked for it";
    self.left_ = self.in_.take_left();
    self.t_.seen[0].begun = true;
    tasks.spawn(send_all(self));
    co_await self.receive_all();
    self.t_.seen[0].ended = true;
    tasks.cancel();
  }

 private:
  static std::string frame(unsigned first, std::string_view payload) {
    std::string all(1, static_cast<char>(first));
    const std::size_t size = payload.size();
    if (size < 126) {
      all += static_cast<char>(0x80 | size);
    } else if (size < 65'536) {
      all += static_cast<char>(0x80 | 126);
      all += static_cast<char>(size >> 8);
      all += static_cast<char>(size);
    } else {
      all += static_cast<char>(0x80 | 127);
      for (int shift = 56; shift >= 0; shift -= 8) all += static_cast<char>(size >> shift);
    }
    const char key[] = {'\x12', '\x34', '\x56', '\x78'};
    all.append(key, 4);
    for (std::size_t i = 0; i < size; ++i) all += static_cast<char>(payload[i] ^ key[i % 4]);
    return all;
  }

  static task<> send_all(frames_by_hand& self) {
    const side_plan& plan = self.t_.p.sides[0];
    side_seen& seen = self.t_.seen[0];
    try {
      for (std::size_t s = 0; s < plan.senders.size(); ++s)
        for (std::size_t i = 0; i < plan.senders[s].size(); ++i) {
          const std::string data = self.t_.message(0, s, i);
          unsigned code = plan.senders[s][i].text ? 1 : 2;
          for (std::string_view rest = data; !rest.empty(); code = 0) {
            const std::string_view part = rest.substr(0, self.t_.p.fragment);
            rest.remove_prefix(part.size());
            if (self.closed_) co_return;
            const std::string bytes = frame(code | (rest.empty() ? 0x80 : 0), part);
            co_await self.on_.write(std::string_view(bytes));
            if (rest.size() % 3 != 1) continue;
            const std::string ping = frame(0x89, "are you there");
            ++self.pings_;
            co_await self.on_.write(std::string_view(ping));
          }
          ++seen.sent[s];
        }
      if (!plan.closes) co_return;
      seen.sent_at_close = seen.sent;
      seen.closing = true;
      co_await self.close(plan.code);
    } catch (const std::system_error&) {
    }
  }
  task<> close(std::uint16_t code) {
    if (std::exchange(closed_, true)) co_return;
    const char bytes[] = {static_cast<char>(code >> 8), static_cast<char>(code)};
    const std::string text = frame(0x88, {bytes, 2});
    co_await on_.write(std::string_view(text));
  }

  task<bool> need(std::size_t bytes) {
    while (left_.size() < bytes) {
      received in = co_await on_.receive();
      if (in.empty()) co_return false;
      left_ += in.text();
    }
    co_return true;
  }
  std::string take(std::size_t bytes) {
    std::string got = left_.substr(0, bytes);
    left_.erase(0, bytes);
    return got;
  }
  static std::size_t number_in(std::string_view bytes) {
    std::size_t n = 0;
    for (const char c : bytes) n = n << 8 | static_cast<unsigned char>(c);
    return n;
  }

  task<> receive_all() {
    std::string message;
    bool text = false;
    try {
      for (;;) {
        bool whole = co_await need(2);
        if (!whole) co_return;
        const std::string head = take(2);
        const unsigned code = static_cast<unsigned char>(head[0]) & 15;
        std::size_t size = static_cast<unsigned char>(head[1]);
        EXPECT_LT(size, 128U) << "a server masks";
        EXPECT_EQ(head[0] & 0x70, 0) << "an extension nobody asked for";
        if (size >= 126) {
          const std::size_t bytes = size == 126 ? 2 : 8;
          whole = co_await need(bytes);
          if (!whole) co_return;
          size = number_in(take(bytes));
        }
        whole = co_await need(size);
        if (!whole) co_return;
        const std::string payload = take(size);
        if (code == 8) {
          t_.seen[0].end = {static_cast<std::uint16_t>(number_in(payload.substr(0, 2))), "", true};
          co_await close(t_.seen[0].end.code);
          co_return;
        }
        if (code == 9) {
          const std::string pong = frame(0x8a, payload);
          co_await on_.write(std::string_view(pong));
        } else if (code == 10) {
          EXPECT_EQ(payload, "are you there");
          EXPECT_GE(--pings_, 0) << "more pongs than pings";
        } else {
          if (code != 0) text = code == 1;
          message += payload;
          if ((head[0] & 0x80) != 0) t_.check(0, std::exchange(message, {}), text);
        }
      }
    } catch (const std::system_error&) {
    }
  }

  talk& t_;
  stream on_;
  wire_reader in_;
  std::string left_;
  int pings_ = 0;
  bool closed_ = false;
};

}  // namespace heddle::test::roles
