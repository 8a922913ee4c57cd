// SPDX-License-Identifier: MIT
// Server-sent events (text/event-stream of the HTML standard): an answer that stays open and sends
// one event at a time. A browser reads it with EventSource.
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

#include "heddle/web/incoming.hh"

namespace heddle::http {

/// One event. Its data may have several lines.
/// Fails: the constructor and the setters throw failure(invalid_argument) for a name or an id that
///   contains a line end.
class server_event {
 public:
  explicit server_event(std::string_view data);

  /// The event's type, for which a page registers its EventSource listeners; "message" by default.
  server_event& name(std::string_view text) &;
  /// Sets the id. The browser reports the last id that it saw when it connects again.
  server_event& id(std::string_view text) &;
  /// Sets how long the browser waits before it connects again.
  server_event& retry(std::chrono::milliseconds pause) &;

  server_event&& name(std::string_view text) && { return std::move(name(text)); }
  server_event&& id(std::string_view text) && { return std::move(id(text)); }
  server_event&& retry(std::chrono::milliseconds pause) && { return std::move(retry(pause)); }

  /// The event as it is sent, with the empty line that ends it.
  [[nodiscard]] std::string text() const { return before_ + data_ + "\n"; }

 private:
  std::string before_;
  std::string data_;
};

/// Thread: the connection's color. Owns: nothing; valid until the handler has ended.
/// Fails: as body_writer::write. The server notices that a client is gone only when it sends, so
///   send a comment now and then.
class event_stream {
 public:
  explicit event_stream(body_writer out) noexcept : out_(out) {}

  [[nodiscard]] task<> send(server_event e);
  /// Sends a line that browsers ignore.
  [[nodiscard]] task<> comment(std::string text = "");
  /// The response that the handler returns. The browser then connects again; answer that request
  /// with 204 to stop it.
  [[nodiscard]] response done() const { return out_.done(); }

 private:
  body_writer out_;
};

/// Begins the answer and sends its head. If a browser connects again, the request's Last-Event-ID
/// field holds the id of the last event that it saw.
[[nodiscard]] task<event_stream> start_events(request& r);

}  // namespace heddle::http
