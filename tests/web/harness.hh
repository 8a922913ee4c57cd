// SPDX-License-Identifier: MIT
// A server with one handler and clients that send raw bytes, for tests on every driver.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/heddle.hh"
#include "heddle/web/server.hh"
#include "support/drivers.hh"
#include "web/transport.hh"

namespace heddle::test {

/// Runs body(address, server) beside a server, then drains it.
template <class Body>
task<> with_server(http::handler handle, http::server_options options, Body body) {
  auto [door, at] = open_door();
  http::server web(std::move(handle), std::move(options));
  scope s;
  s.spawn(web.serve(std::move(door)));
  try {
    co_await body(at, web);
  } catch (...) {
    s.fail(std::current_exception());
  }
  web.stop();
  co_await s.join();
}

/// Everything that comes until the server closes; a reset ends it too.
inline task<std::string> read_all(stream conn) {
  std::string all;
  for (;;) {
    auto in = co_await as_expected(with_timeout(conn.receive(), std::chrono::seconds(60)));
    if (!in) {
      all += "<" + in.error().message() + ">";
      co_return all;
    }
    if (in->empty()) co_return all;
    all += in->text();
  }
}

/// Sends text and gives everything until the server closes.
inline task<std::string> talk(address at, std::string text) {
  stream conn = co_await connect_to(at);
  co_await conn.write(std::string_view(text));
  co_return co_await read_all(conn);
}

/// One answer's worth of bytes: what has come when `end` appears.
inline task<std::string> read_until(stream conn, std::string end) {
  std::string all;
  while (all.find(end) == std::string::npos) {
    received in = co_await with_timeout(conn.receive(), std::chrono::seconds(60));
    if (in.empty()) co_return all + "<closed>";
    all += in.text();
  }
  co_return all;
}

/// A request that ends its connection.
inline task<std::string> ask(address at, std::string line, std::string fields = "",
                             std::string body = "") {
  return talk(at, line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields + "\r\n" + body);
}

inline std::string status_of(const std::string& answer) {
  return answer.size() < 12 ? answer : answer.substr(9, 3);
}

inline std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? answer : answer.substr(at + 4);
}

inline std::string field_of(const std::string& answer, const std::string& name) {
  const auto at = answer.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 4;
  return answer.substr(from, answer.find("\r\n", from) - from);
}

inline std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace heddle::test
