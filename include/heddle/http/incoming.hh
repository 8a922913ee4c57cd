// SPDX-License-Identifier: MIT
// What a handler sees: the request's head with typed access to its parts, the body as it arrives,
// and the ways to answer that need more than a returned response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/body_writer.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/http/text_value.hh"
#include "heddle/io/address.hh"

namespace heddle {
class cancel_source;
}

namespace heddle::http {

class exchange;
class route_match;

/// Thread: the connection's color. Owns: nothing; views are valid until the handler has ended.
/// Fails: typed access throws status_error(400), naming the value and what it should be. Reading
///   the body fails with failure: message_size beyond the limit, bad_message when it is malformed,
///   timed_out when it comes too slowly, or as the connection does; left alone, each becomes the
///   answer that fits.
///
///   task<response> page(request& r) {
///     const int number = r.query_value<int>("page").value_or(1);
///     co_return response(200).text("page " + std::to_string(number) + "\n");
///   }
class request {
 public:
  explicit request(exchange& on) noexcept : on_(&on) {}

  [[nodiscard]] const request_head& head() const noexcept;
  [[nodiscard]] method verb() const noexcept { return head().verb(); }
  /// Still encoded; decode_path() makes a name of it.
  [[nodiscard]] std::string_view path() const noexcept { return head().path(); }
  /// Still encoded, and whole.
  [[nodiscard]] std::string_view query() const noexcept { return head().query(); }
  [[nodiscard]] std::string_view header(header_id id) const noexcept { return head().value(id); }
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    return head().value(name);
  }
  [[nodiscard]] const address& peer() const noexcept;

  /// A part of the path that the route's pattern named, decoded. The pattern has to have it.
  template <readable_text T = std::string_view>
  [[nodiscard]] T param(std::string_view name) const {
    return read_text<T>(param_text(name), "the path's part", name);
  }
  /// The first query parameter of this name, decoded; nothing when there is none.
  template <readable_text T = std::string>
    requires(!std::same_as<T, std::string_view>)
  [[nodiscard]] std::optional<T> query_value(std::string_view name) const {
    const std::optional<std::string> text = query_text(name);
    if (!text) return std::nullopt;
    return read_text<T>(*text, "the query parameter", name);
  }
  /// All of this name, in their order.
  [[nodiscard]] std::vector<std::string> query_values(std::string_view name) const;
  /// A header field's value; nothing when there is none.
  template <readable_text T>
  [[nodiscard]] std::optional<T> header_value(std::string_view name) const {
    if (!head().has(name)) return std::nullopt;
    return read_text<T>(head().value(name), "the header field", name);
  }
  /// A cookie's value as it was sent; nothing when there is none.
  [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const noexcept;

  /// The next part of the body, valid until the next call; empty at its end. Reading when one is
  /// ready for more is the back-pressure: the client is not read from meanwhile.
  [[nodiscard]] task<std::string_view> read();
  /// The whole body.
  [[nodiscard]] task<std::string> text();
  /// Another limit than the server's for this body; before it is read.
  void limit_body(std::uint64_t bytes_max) noexcept;
  /// Another patience than the server's with a client that sends nothing of this body.
  void limit_body_pause(nanoseconds pause_max) noexcept;
  [[nodiscard]] std::uint64_t body_limit() const noexcept;
  /// A field that came behind a chunked body, once that has been read; "" when there is none.
  /// Fields that may not come there are not found.
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept;

  /// A header line of whatever answer is sent in the end, errors included.
  void add_header(std::string_view name, std::string_view value);
  /// Begins an answer whose body is written bit by bit. Without response::length() it is chunked.
  [[nodiscard]] task<body_writer> start(response head);
  /// Answers 101 and hands the connection over. status_error(426) when the client did not offer
  /// this protocol. `head` may add header lines.
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head = response(101));
  /// An error as the server shows them: see server_options::error_page.
  [[nodiscard]] response error(int status, std::string_view detail) const;
  /// Ends waits when the server begins to drain: for answers that would never end by themselves.
  [[nodiscard]] cancel_source& draining() const noexcept;

 private:
  friend class router;
  [[nodiscard]] std::string_view param_text(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> query_text(std::string_view name) const;

  exchange* on_;
  const route_match* match_ = nullptr;
};

}  // namespace heddle::http
