// SPDX-License-Identifier: MIT
// Answers that are sent while they are made. The handler starts the answer, writes to it as often
// as it likes, each write ending when the kernel has taken the bytes, and returns done().
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
#include "heddle/io/tcp.hh"

namespace heddle::http {

class exchange;

/// Thread: the connection's color. Owns: nothing; valid until the handler has ended.
/// Cancel: a write that is given up leaves the answer broken, and the connection is closed.
/// Fails: a write fails with failure: timed_out when the client takes nothing for the server's
///   write_timeout, broken_pipe or connection_reset when it is gone, message_size beyond a length
///   that was promised. Leaving the handler without done() cuts the connection, so that the client
///   sees that the answer is not whole.
class body_writer {
 public:
  explicit body_writer(exchange& on) noexcept : on_(&on) {}

  /// Sends these bytes; nothing when the request's method was HEAD.
  [[nodiscard]] task<> write(std::string_view bytes);
  /// Sends the head if no write has done so yet.
  [[nodiscard]] task<> flush();
  /// A field behind a chunked body; dropped when the body is not chunked.
  body_writer& trailer(std::string_view name, std::string_view value);
  /// What the handler returns; the end of the body is sent then. With a promised length, all of it
  /// has been written.
  [[nodiscard]] response done() const;

 private:
  exchange* on_;
};

/// A connection that another protocol has taken over.
///
/// Thread: the connection's color. Owns: a handle of the connection, which is closed when the
/// handler has ended.
///
///   http::upgraded to = co_await r.upgrade("echo");
///   co_await to.connection.write(to.early);
///   while (received in = co_await to.connection.receive())
///     co_await to.connection.write(in.text());
///   co_return to.done();
class upgraded {
 public:
  upgraded(tcp_stream on, std::string bytes) noexcept
      : connection(std::move(on)), early(std::move(bytes)) {}

  tcp_stream connection;
  std::string early;  ///< what the client sent behind its request

  [[nodiscard]] response done() const;
};

}  // namespace heddle::http
