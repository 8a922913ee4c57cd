// SPDX-License-Identifier: MIT
// A connection that changes from HTTP/1 to another protocol (RFC 9110 section 7.8), and the
// function that gets it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/io/stream.hh"

namespace heddle::http {

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
  upgraded(stream on, std::string bytes) noexcept
      : connection(std::move(on)), early(std::move(bytes)) {}

  stream connection;
  std::string early;  ///< bytes that the client sent after its request

  [[nodiscard]] response done() const;
};

/// Given to request::hand_over(): it gets the connection when the request has ended, and the
/// connection is closed when its task has. The server keeps the function, with its captures, while
/// the task runs.
using take_over = std::move_only_function<task<>(upgraded)>;

}  // namespace heddle::http
