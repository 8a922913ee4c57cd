// SPDX-License-Identifier: MIT
// Writes the body of an answer piece by piece. The handler starts the answer, writes any number of
// times (each write ends when the kernel has taken the bytes) and returns done().
//
//   task<http::response> count(http::request& r) {
//     http::body_writer out = co_await r.start(http::response(200));
//     for (int i = 0; i < 1000; ++i) co_await out.write(std::to_string(i) + "\n");
//     co_return out.done();
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/web/upgraded.hh"

namespace heddle::http {

class exchange;

/// Thread: the connection's color. Owns: nothing; valid until the handler has ended.
/// Cancel: a cancelled write leaves the answer incomplete, and the server closes the connection.
/// Fails: write() throws failure: timed_out if the client accepts nothing for the server's
///   write_timeout, broken_pipe or connection_reset if it is gone, message_size beyond the promised
///   length. If the handler ends without done(), the server cuts the connection, so that the client
///   sees that the answer is incomplete.
class body_writer {
 public:
  explicit body_writer(exchange& on) noexcept : on_(&on) {}

  /// Sends these bytes; sends nothing if the request's method was HEAD.
  [[nodiscard]] task<> write(std::string_view bytes);
  /// Sends the head unless a write has sent it already.
  [[nodiscard]] task<> flush();
  /// Adds a field that follows a chunked body; dropped if the body is not chunked.
  body_writer& trailer(std::string_view name, std::string_view value);
  /// The response that the handler returns; the server then sends the end of the body. If a length
  /// was promised, the handler must have written all of it.
  [[nodiscard]] response done() const;

 private:
  exchange* on_;
};

}  // namespace heddle::http
