// SPDX-License-Identifier: MIT
// An HTTP/1.1 server for tests: rules say how requests are answered, late, cut or not at all, and
// each request is kept to be looked at. It runs on each driver and as a node of a simulated
// cluster.
//
//   fakes::scripted_http shop;
//   shop.on("POST", "/orders", {.status = 503}, 2);           // two times, then the next rule
//   shop.on("POST", "/orders", {.status = 201, .body = "ok"});
//   const tcp_listener door = tcp_listener::listen(address::any_v4(80));
//   side.spawn(shop.serve(door));
//   ... EXPECT_EQ(shop.requests().back().body, "12 cups");
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/listener.hh"

namespace heddle::fakes {

/// A field line of a request or an answer.
struct http_field {
  std::string name;
  std::string value;
};

/// The end of an answer: the connection stays (as the request asks), is closed, or is reset.
enum class http_end : std::uint8_t { keep, close, reset };

/// An answer, or its absence. Content-Length is written unless the fields name it or
/// Transfer-Encoding; so fields that frame the body wrongly are possible.
struct http_answer {
  int status = 200;                     ///< 200 to 999
  std::vector<http_field> fields = {};  ///< tokens, and values without control characters
  std::string body = {};                ///< left out after HEAD, and with 204 and 304
  bool chunked = false;                 ///< the body comes in chunks of chunk_bytes
  std::size_t chunk_bytes = 1024;       ///< 1 and more
  nanoseconds delay{0};                 ///< the time before the first byte
  /// This many bytes of the answer leave, its head included, and then `end` comes: close, if it is
  /// `keep`.
  std::optional<std::uint64_t> cut_after = {};
  http_end end = http_end::keep;
  bool silent = false;  ///< no byte is sent, and the connection stays until the client ends it
  /// Instead of all that: bytes that are sent as they are (garbage, another protocol). Then `end`.
  std::string raw = {};
};

/// A request as it came. If its client gave up in the middle, or it is malformed, `problem` says
/// so, and the rest is as much as was read.
struct http_request {
  std::string method;
  std::string target;              ///< as in the request line: "/orders?page=2"
  std::vector<http_field> fields;  ///< in the order in which they came
  std::string body;                ///< without the chunks' lines
  std::uint64_t connection = 0;    ///< the number of its connection, from 1
  time_point at;                   ///< when its head was complete
  std::string problem;             ///< a sentence; empty for a whole request
  /// The value of the first field of this name, in any case; "" if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const noexcept;
};

/// Every limit. Bodies are bounded by limits.body_bytes_max.
struct scripted_http_options {
  http::limits limits = {};                 ///< bounds of requests; beyond: 413, 414 or 431
  std::uint32_t connections_max = 1024;     ///< more are reset at once
  std::uint32_t rules_max = 4096;           ///< on() throws no_buffer_space beyond
  std::uint32_t requests_kept_max = 10000;  ///< the oldest go first
  std::uint64_t kept_bytes_max = std::uint64_t{64} << 20;  ///< as requests_kept_max; the last stays
  nanoseconds idle = std::chrono::minutes(2);    ///< a connection that neither asks nor reads
  nanoseconds linger = std::chrono::seconds(1);  ///< the wait for the client's end behind a close
};

/// A request is answered by the first rule, in the order of on(), that fits it and has times left;
/// if there is none, by 404 with a body that names the request. Requests on one connection are
/// answered in their order, also if they come at once (RFC 9112 section 9.3.2). Malformed ones get
/// the status of their fault, and the connection ends.
///
/// Thread: one color, that of serve(); rules may change while it runs.
/// Owns: the rules and the requests. It and the listener outlive serve().
/// Cancel: serve() ends, with its connections.
/// Fails: on() throws failure: invalid_argument for a status, field, method, number or delay that
///   cannot be used, no_buffer_space beyond rules_max.
class scripted_http {
 public:
  explicit scripted_http(scripted_http_options options = scripted_http_options());
  scripted_http(const scripted_http&) = delete;
  scripted_http& operator=(const scripted_http&) = delete;
  ~scripted_http();

  /// Adds a rule behind all others. Method "": any. Path "": any; a path that ends with '*': all
  /// that begin so; else it equals the target without its query. Times 0: without end.
  void on(std::string_view method, std::string_view path, http_answer answer,
          std::uint32_t times = 0);
  /// Removes all rules.
  void clear_rules() noexcept;
  /// The next connections end as they are accepted, before a byte is read.
  void refuse_connections(std::uint32_t count, http_end how = http_end::reset) noexcept;

  /// Answers until it is cancelled or the listener has finished.
  [[nodiscard]] task<> serve(const listener& door);

  /// The last requests, in the order in which their heads came.
  [[nodiscard]] const std::deque<http_request>& requests() const noexcept;
  /// How many came in all, malformed ones included.
  [[nodiscard]] std::uint64_t asked() const noexcept;
  /// Connections that were accepted, also those that were refused then.
  [[nodiscard]] std::uint64_t connections() const noexcept;
  [[nodiscard]] std::uint32_t connections_open() const noexcept;

 private:
  struct core;
  std::unique_ptr<core> core_;
};

}  // namespace heddle::fakes
