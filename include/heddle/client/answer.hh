// SPDX-License-Identifier: MIT
// The answer that a client gets: its head at once, its body as it comes. `fetched` is an answer
// with its whole body.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "heddle/core/task.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/http/url.hh"

namespace heddle::http {

namespace detail {
class client_exchange;
}

/// An answer that was read whole. Thread: any; it is a value.
struct fetched {
  response_head head;
  std::string body;
  std::string url;  ///< the URL that answered, after redirects

  [[nodiscard]] int status() const noexcept { return head.status(); }
  [[nodiscard]] bool ok() const noexcept { return head.status() / 100 == 2; }
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    return head.value(name);
  }
};

/// Thread: the client's color.
/// Owns: a connection, which goes back to the client's pool when the body has been read, and is
///   closed if the answer ends before.
/// Cancel: read() leaves the answer unusable. Fails: read() throws failure that names the URL:
///   timed_out; bad_message for a body that breaks the rules; connection_reset or
///   connection_aborted if it is incomplete; message_size beyond a limit; or the exception of the
///   request's body_source.
///
///   http::answer a = co_await web.open(http::outgoing("GET", url));
///   for (;;) {
///     const std::string_view part = co_await a.read();
///     if (part.empty()) break;
///     co_await file.write_at(std::exchange(at, at + part.size()), part);
///   }
class answer {
 public:
  explicit answer(std::unique_ptr<detail::client_exchange> on) noexcept;
  answer(answer&&) noexcept;
  answer& operator=(answer&&) noexcept;
  ~answer();

  [[nodiscard]] const response_head& head() const noexcept;
  [[nodiscard]] int status() const noexcept { return head().status(); }
  [[nodiscard]] bool ok() const noexcept { return status() / 100 == 2; }
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    return head().value(name);
  }
  /// The URL that answered, after redirects.
  [[nodiscard]] const url& from() const noexcept;

  /// The next part of the body, unpacked; "" at its end. It is valid until the next call.
  [[nodiscard]] task<std::string_view> read();
  /// The whole rest of the body, up to this many bytes.
  [[nodiscard]] task<std::string> text(std::uint64_t bytes_max);
  /// A trailer field, after the body; "" if there is none.
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept;

 private:
  friend class client;
  std::unique_ptr<detail::client_exchange> on_;
};

}  // namespace heddle::http
