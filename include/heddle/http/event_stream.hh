// SPDX-License-Identifier: MIT
// Server-sent events, as the HTML standard defines text/event-stream: an answer that goes on, one
// event at a time, which a browser reads with EventSource.
//
//   task<http::response> clock(http::request& r) {
//     http::event_stream out = co_await http::start_events(r);
//     for (;;) {
//       co_await out.send(http::server_event("tick"));
//       const auto waited = co_await as_expected(with_cancel(r.draining(), sleep_for(1s)));
//       if (!waited) co_return out.done();          // the server stops
//     }
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/incoming.hh"

namespace heddle::http {

/// One event. Its data may have several lines.
/// Fails: the constructor and the setters throw failure(invalid_argument) for a name or an id with
/// a line end in it, which would end its line.
class server_event {
 public:
  explicit server_event(std::string_view data);

  /// What EventSource listeners are registered for; "message" without it.
  server_event& name(std::string_view text) &;
  /// The browser tells the last one when it connects again.
  server_event& id(std::string_view text) &;
  /// How long the browser waits before it connects again.
  server_event& retry(std::chrono::milliseconds pause) &;

  server_event&& name(std::string_view text) && { return std::move(name(text)); }
  server_event&& id(std::string_view text) && { return std::move(id(text)); }
  server_event&& retry(std::chrono::milliseconds pause) && { return std::move(retry(pause)); }

  /// As it is sent, with the empty line that ends it.
  [[nodiscard]] std::string text() const { return before_ + data_ + "\n"; }

 private:
  std::string before_;
  std::string data_;
};

/// Thread: the connection's color. Owns: nothing; valid until the handler has ended.
/// Fails: as body_writer::write: a client that has gone is noticed when something is sent, so send
/// a comment now and then.
class event_stream {
 public:
  explicit event_stream(body_writer out) noexcept : out_(out) {}

  [[nodiscard]] task<> send(server_event e);
  /// A line that browsers ignore.
  [[nodiscard]] task<> comment(std::string text = "");
  /// What the handler returns. The browser connects again, unless it is told 204 then.
  [[nodiscard]] response done() const { return out_.done(); }

 private:
  body_writer out_;
};

/// Begins the answer and sends its head. The id of the last event that the browser saw is in the
/// request's Last-Event-ID field.
[[nodiscard]] task<event_stream> start_events(request& r);

}  // namespace heddle::http
