// SPDX-License-Identifier: MIT
// A proxy in front of an upstream that sends frames of HTTP/2 one by one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/http2_peer.hh"
#include "proxy/harness.hh"
#include "support/wait_until.hh"

namespace heddle::test {

/// Runs body(front, proxy, door) with a proxy in front of `door`, whose connections take_frames()
/// takes.
template <class Body>
task<> with_frames_upstream(http::proxy_options options, Body body) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  options.upstreams.insert(options.upstreams.begin(), "h2c://" + door.local().to_string());
  listener takes(door);
  co_await with_proxy_to(std::move(options),
                         [&body, &takes](address at, http::reverse_proxy& p) -> task<> {
                           co_await body(at, p, takes);
                         });
}

/// The next connection of the proxy; it gets SETTINGS.
inline task<http2_client> take_frames(listener door) {
  http2_client peer = co_await take_peer(std::move(door));
  peer.setting(http::http2_setting::enable_push, 0);
  co_await peer.send();
  co_return peer;
}

inline std::string four_bytes(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

inline void put_reset(http2_client& by, std::uint32_t id, http2_error code) {
  by.frame(http2_type::rst_stream, 0, id, four_bytes(static_cast<std::uint32_t>(code)));
}

inline void put_farewell(http2_client& by, std::uint32_t last_id) {
  by.frame(http2_type::goaway, 0, 0, four_bytes(last_id) + four_bytes(0));
}

using field_list = std::vector<std::pair<std::string, std::string>>;

/// Fields of an answer; a function, because GCC 12 takes no lists in coroutines.
inline field_list answered(std::string status, field_list more = {}) {
  field_list all;
  all.emplace_back(":status", std::move(status));
  for (auto& each : more) all.push_back(std::move(each));
  return all;
}
inline field_list one_field(std::string name, std::string value) {
  field_list all;
  all.emplace_back(std::move(name), std::move(value));
  return all;
}

inline void put_answer(http2_client& by, std::uint32_t id, std::string_view body) {
  by.headers(id, answered("200"), body.empty());
  if (!body.empty()) by.data(id, body, true);
}

/// ask(), for a task beside the upstream's.
inline task<> ask_beside(address at, std::string line, std::string fields, std::string body,
                         std::string& got) {
  got = co_await ask(at, std::move(line), std::move(fields), std::move(body));
}
inline task<> get_beside(address at, std::string& got) {
  return ask_beside(at, "GET /", "", "", got);
}

/// Lines that a proxy logs.
struct proxy_log {
  std::string text;
  [[nodiscard]] std::function<void(std::string_view)> taker() {
    return [this](std::string_view line) { text.append(line).append("\n"); };
  }
  [[nodiscard]] bool has(std::string_view part) const { return text.find(part) != text.npos; }
};

}  // namespace heddle::test
