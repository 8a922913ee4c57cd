// SPDX-License-Identifier: MIT
// A client, or a server, that writes frames one by one, for tests of HTTP/2: it may do what no good
// peer does.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/http/detail/hpack.hh"
#include "heddle/http/detail/http2_frame.hh"
#include "web/harness.hh"

namespace heddle::test {

using http::http2_error;
using http::http2_type;

/// Frames as text: "HEADERS 1 END" and the fields, "DATA 1 5", "RST_STREAM 1 8" and so on.
class http2_client {
 public:
  explicit http2_client(stream conn) : conn_(std::move(conn)) {
    out = http::http2_preface;
    frame(http2_type::settings, 0, 0, {});
  }

  /// The server's end, whose SETTINGS are gathered as they are given.
  struct as_server {};
  http2_client(stream conn, as_server)
      : answers_pings(false), conn_(std::move(conn)), preface_left_(24) {}

  std::string out;  // gathered until send()
  bool answers_pings = true;

  void frame(http2_type type, std::uint8_t flags, std::uint32_t id, std::string_view payload) {
    http::put_http2_head(out, payload.size(), type, flags, id);
    out.append(payload);
  }
  void headers(std::uint32_t id, std::vector<std::pair<std::string, std::string>> fields,
               bool ends = true) {
    std::string block;
    for (const auto& [name, value] : fields) http::hpack_encode(block, name, value);
    http::put_header_block(out, block, id, ends);
  }
  void get(std::uint32_t id, std::string path,
           std::vector<std::pair<std::string, std::string>> more = {}) {
    request(id, "GET", std::move(path), std::move(more), true);
  }
  void request(std::uint32_t id, std::string method, std::string path,
               std::vector<std::pair<std::string, std::string>> more, bool ends) {
    std::vector<std::pair<std::string, std::string>> fields = {{":method", std::move(method)},
                                                               {":scheme", "http"},
                                                               {":path", std::move(path)},
                                                               {":authority", "x"}};
    for (auto& field : more) fields.push_back(std::move(field));
    headers(id, std::move(fields), ends);
  }
  void data(std::uint32_t id, std::string_view bytes, bool ends) {
    frame(http2_type::data, ends ? http::http2_flag::end_stream : 0, id, bytes);
  }
  void window(std::uint32_t id, std::uint32_t more) { http::put_window_update(out, id, more); }
  void setting(http::http2_setting name, std::uint32_t value) {
    std::string payload;
    http::put_setting(payload, name, value);
    frame(http2_type::settings, 0, 0, payload);
  }

  task<> send() {
    const std::string all = std::exchange(out, {});
    co_await conn_.write(byte_view(all));
  }
  /// The next frame but for SETTINGS and WINDOW_UPDATE; "closed" at the end, "nothing" if no bytes
  /// come for so long.
  task<std::string> next(nanoseconds patience = std::chrono::seconds(60)) {
    for (;;) {
      while (in_.size() < http::http2_head_bytes ||
             in_.size() < http::http2_head_bytes + http::read_http2_head(in_).length) {
        auto more = co_await as_expected(with_timeout(conn_.receive(), patience));
        if (!more && more.error() == std::errc::timed_out) co_return "nothing";
        if (!more || more->empty()) co_return "closed";
        in_ += more->text();
        const std::size_t dropped = std::min(preface_left_, in_.size());
        in_.erase(0, dropped);
        preface_left_ -= dropped;
      }
      const http::http2_frame_head head = http::read_http2_head(in_);
      const std::string payload = in_.substr(http::http2_head_bytes, head.length);
      in_.erase(0, http::http2_head_bytes + head.length);
      const std::string text = told(head, payload);
      if (head.type == http2_type::ping && !head.has(http::http2_flag::ack) && answers_pings) {
        frame(http2_type::ping, http::http2_flag::ack, 0, payload);
        static_cast<void>(co_await as_expected(send()));
      }
      if (!text.empty()) co_return text;
    }
  }
  /// Sends, and gives all frames until the text of one begins like this; each in a line.
  task<std::string> until(std::string beginning) {
    co_await send();
    std::string all;
    for (;;) {
      const std::string one = co_await next();
      all += one + "\n";
      if (one == "closed" || one == "nothing" || one.starts_with(beginning)) co_return all;
    }
  }
  void shut() { conn_.close(); }

  std::string body;            // of all DATA
  std::uint32_t windows = 0;   // WINDOW_UPDATE frames
  std::uint32_t settings = 0;  // SETTINGS that were no acknowledgements

 private:
  std::string told(const http::http2_frame_head& head, std::string_view payload) {
    const std::string id = " " + std::to_string(head.stream);
    const char* const end = head.has(http::http2_flag::end_stream) ? " END" : "";
    switch (head.type) {
      case http2_type::settings:
        if (!head.has(http::http2_flag::ack)) ++settings;
        return "";
      case http2_type::window_update:
        ++windows;
        return "";
      case http2_type::data:
        body += payload;
        return "DATA" + id + " " + std::to_string(payload.size()) + end;
      case http2_type::headers: {
        std::string all = "HEADERS" + id + end;
        decoder_.begin();
        for (http::hpack_pair f; decoder_.next(payload, f) == http::hpack_state::field;)
          if (f.name != "date" && f.name != "server")
            all.append(" ").append(f.name).append("=").append(f.value);
        return all;
      }
      case http2_type::rst_stream:
        return "RST_STREAM" + id + " " + std::to_string(http::http2_number(payload));
      case http2_type::goaway:
        return "GOAWAY " + std::to_string(http::http2_number(payload)) + " " +
               std::to_string(http::http2_number(payload.substr(4)));
      case http2_type::ping:
        return "PING " + std::string(payload);
      default:
        return "frame of type " + std::to_string(static_cast<int>(head.type));
    }
  }

  stream conn_;
  std::size_t preface_left_ = 0;
  http::hpack_decoder decoder_;
  std::string in_;
};

}  // namespace heddle::test
