// SPDX-License-Identifier: MIT
// An HTTP/1.1 server: a handler is a function from a request to a task that gives a response. One
// connection is one straight-line task; while it is idle it is one small frame that waits for data,
// and the frames that parse and answer exist only while there is something to parse and answer.
//
//   task<http::response> hello(http::request& r) {
//     co_return http::response(200).text("hello " + std::string(r.path()) + "\n");
//   }
//   co_await http::serve(tcp_listener::listen(address::loopback(8080)), hello);
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/date.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/io/tcp.hh"
#include "heddle/probe/histogram.hh"

namespace heddle::http {

class exchange;

/// What a handler sees: the head, and the body as it arrives.
///
/// Thread: the connection's color. Owns: nothing; views are valid until the handler has ended.
/// Fails: reading the body fails with failure: message_size when it is larger than the limit,
/// bad_message
///   when it is malformed, timed_out, or as the connection does.
class request {
 public:
  explicit request(exchange& on) noexcept : on_(&on) {}

  [[nodiscard]] const request_head& head() const noexcept;
  [[nodiscard]] method verb() const noexcept { return head().verb(); }
  /// Still encoded; decode_path() makes a name of it.
  [[nodiscard]] std::string_view path() const noexcept { return head().path(); }
  [[nodiscard]] std::string_view query() const noexcept { return head().query(); }
  [[nodiscard]] std::string_view header(header_id id) const noexcept { return head().value(id); }
  [[nodiscard]] const address& peer() const noexcept;

  /// The next part of the body, valid until the next call; empty at its end.
  [[nodiscard]] task<std::string_view> read();
  /// The whole body.
  [[nodiscard]] task<std::string> text();

 private:
  exchange* on_;
};

using handler = std::function<task<response>(request&)>;

/// One answered request, for logs.
struct access {
  const request_head* head = nullptr;  ///< null when the request could not be parsed
  const address* peer = nullptr;
  int status = 0;
  std::uint64_t bytes = 0;  ///< of the body
  nanoseconds took{};
};

struct server_options {
  limits bounds = {};
  nanoseconds idle_timeout = std::chrono::seconds(75);    ///< between requests
  nanoseconds header_timeout = std::chrono::seconds(10);  ///< for the rest of a head that has begun
  nanoseconds body_timeout = std::chrono::seconds(30);    ///< between two parts of a body
  nanoseconds write_timeout = std::chrono::seconds(30);   ///< for one batch of answers
  std::size_t connections_max = 16384;       ///< further ones wait in the listener's queue
  std::size_t corked_bytes_max = 64 * 1024;  ///< answers to pipelined requests gathered in one send
  std::size_t drain_bytes_max = 256 * 1024;  ///< of a body that the handler did not read
  std::string_view server_name = "heddle";
  std::function<void(const access&)> log = {};
};

/// Counters of one server; they only grow.
struct server_counters {
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;   ///< sent, heads included
  std::uint64_t errors = 0;  ///< answers of 500 and above, and connections that broke in an answer
  histogram latency_ns;      ///< from a parsed head to an answer that is ready to be sent
};

/// Thread: one color. Owns: nothing of the listener's; it lives as long as serve() runs.
class server {
 public:
  server(handler answer, server_options options = {});

  /// Accepts until it is cancelled or stop() is called; then no new connection is taken, idle ones
  /// are closed, and those in the middle of a request finish it.
  [[nodiscard]] task<> serve(tcp_listener on);
  /// Begins to drain. The second call closes what is left.
  void stop() noexcept;

  [[nodiscard]] const server_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }

 private:
  friend class exchange;
  [[nodiscard]] task<> connection(tcp_stream conn);
  [[nodiscard]] task<> accept_loop(scope& connections, tcp_listener& on);

  handler answer_;
  server_options options_;
  server_counters counters_;
  cancel_source no_more_;         // ends accepting and idle connections
  scope* connections_ = nullptr;  // while they are drained
  bool stopping_ = false;
  /// "Date: ...", made once a second; the wall clock is read ten times a second at most.
  [[nodiscard]] std::string_view date_text() noexcept;

  std::string fixed_lines_;  // header lines that every answer has
  date_line date_;
  std::int64_t wall_second_ = 0;
  time_point wall_read_at_ = time_point::min();
};

/// Serves with default options until cancelled.
[[nodiscard]] task<> serve(tcp_listener on, handler answer);

}  // namespace heddle::http
