// SPDX-License-Identifier: MIT
// The request as a handler gets it: the head with typed access to its values, the body as it
// arrives, and the ways to answer that need more than a returned response.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/http/request.hh"
#include "heddle/http/response.hh"
#include "heddle/http/text_value.hh"
#include "heddle/io/address.hh"
#include "heddle/web/body_writer.hh"
#include "heddle/web/client_side.hh"
#include "heddle/web/upgraded.hh"

namespace heddle {
class cancel_source;
}

namespace heddle::http {

class exchange;
class route_match;

/// Thread: the connection's color. Owns: nothing; views are valid until the handler has ended.
/// Fails: typed access throws status_error(400), which names the value and its expected form.
///   Reading the body throws failure: message_size beyond the limit, bad_message if the body is
///   malformed, timed_out if it comes too slowly, or the connection's error. If the handler does
///   not catch the failure, the server answers with the matching status.
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
  /// The path of the target, still percent-encoded; decode_path() decodes it.
  [[nodiscard]] std::string_view path() const noexcept { return head().path(); }
  /// The whole query, still encoded.
  [[nodiscard]] std::string_view query() const noexcept { return head().query(); }
  [[nodiscard]] std::string_view header(header_id id) const noexcept { return head().value(id); }
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept {
    return head().value(name);
  }
  /// The client's address. Behind server_options::trusted_proxies it is the one that they tell, and
  /// its port may be 0.
  [[nodiscard]] const address& peer() const noexcept;
  /// The other end of the connection, which may be a proxy.
  [[nodiscard]] address connection_peer() const noexcept;

  /// The segment that the route's pattern named, decoded. The pattern must contain this name.
  template <readable_text T = std::string_view>
  [[nodiscard]] T param(std::string_view name) const {
    return read_text<T>(param_text(name), "the path's part", name);
  }
  /// The first query parameter of this name, decoded; nothing if there is none.
  template <readable_text T = std::string>
    requires(!std::same_as<T, std::string_view>)
  [[nodiscard]] std::optional<T> query_value(std::string_view name) const {
    const std::optional<std::string> text = query_text(name);
    if (!text) return std::nullopt;
    return read_text<T>(*text, "the query parameter", name);
  }
  /// The values of all query parameters of this name, in order.
  [[nodiscard]] std::vector<std::string> query_values(std::string_view name) const;
  /// A header field's value; nothing if there is none.
  template <readable_text T>
  [[nodiscard]] std::optional<T> header_value(std::string_view name) const {
    if (!head().has(name)) return std::nullopt;
    return read_text<T>(head().value(name), "the header field", name);
  }
  /// A cookie's value as the client sent it; nothing if there is none.
  [[nodiscard]] std::optional<std::string_view> cookie(std::string_view name) const noexcept;

  /// The next part of the body, valid until the next call; empty at the end. The server reads from
  /// the client only during a call, so a handler that calls it when it is ready for more has
  /// back-pressure.
  [[nodiscard]] task<std::string_view> read();
  /// Reads the whole body.
  [[nodiscard]] task<std::string> text();
  /// Sets the limit for this body instead of the server's; call it before reading.
  void limit_body(std::uint64_t bytes_max) noexcept;
  /// Sets how long the client may send nothing of this body, instead of the server's limit.
  void limit_body_pause(nanoseconds pause_max) noexcept;
  [[nodiscard]] std::uint64_t body_limit() const noexcept;
  /// A trailer field of a chunked body, after the body has been read; "" if there is none. Fields
  /// that trailers must not carry are not found.
  [[nodiscard]] std::string_view trailer(std::string_view name) const noexcept;

  /// All trailer fields, each as "Name: value\r\n", but perhaps without the blank.
  [[nodiscard]] std::string_view trailer_lines() const noexcept;
  /// Waits until the client has ended its side of the connection, and gives true. Gives false at
  /// once where that cannot be seen: a body or a further request is still arriving; in HTTP/2,
  /// which cancels the handler instead. Do not read the body meanwhile. Cancel: at once.
  [[nodiscard]] task<bool> client_ended();

  /// Whether the client has ended its side of the connection while the body waits to be read.
  /// Unlike client_ended() it never waits, and a read() may wait meanwhile. It asks the system, so
  /// call it now and then while something else holds the body up. In HTTP/2 it gives `open`: a
  /// stream that ends cancels the handler instead.
  [[nodiscard]] client_side look_at_client() const noexcept;

  /// Adds a header field to the answer to this request, even if it is an error.
  void add_header(std::string_view name, std::string_view value);
  /// Sends an interim answer (RFC 9110 section 15.2), such as 103 with links. Its body is not sent.
  /// Clients of HTTP/1.0 get nothing.
  [[nodiscard]] task<> inform(response head);
  /// Starts an answer and returns a writer for its body. Without response::length() it is chunked.
  [[nodiscard]] task<body_writer> start(response head);
  /// Answers 101 and hands the connection to the caller. Throws status_error(426) if the client did
  /// not offer this protocol. `head` may add header fields.
  [[nodiscard]] task<upgraded> upgrade(std::string_view protocol, response head = response(101));
  /// Upgrades. `then` gets the connection when this request has ended, so a connection that stays
  /// for hours holds nothing of the request. Return the response.
  [[nodiscard]] task<response> hand_over(std::string_view protocol, response head, take_over then);
  template <heddle::detail::closure_ends_twice Then>
  [[nodiscard]] task<response> hand_over(std::string_view protocol, response head, Then&& then) {
    heddle::detail::check_closures<Then>();
    return hand_over(protocol, std::move(head), take_over(std::move(then)));
  }
  /// The protocol that a client of HTTP/2 asks for by CONNECT (RFC 8441), as Upgrade does in
  /// HTTP/1.1; such a request is given as GET. Empty for all other requests.
  [[nodiscard]] std::string_view extended_protocol() const noexcept;
  /// An error answer in the server's form: see server_options::error_page.
  [[nodiscard]] response error(int status, std::string_view detail) const;
  /// Requests cancellation when the server begins to drain; for answers that would never end
  /// themselves.
  [[nodiscard]] cancel_source& draining() const noexcept;
  /// draining() for a part of the program that may outlive the server.
  [[nodiscard]] std::shared_ptr<cancel_source> kept_draining() const noexcept;

 private:
  friend class router;
  [[nodiscard]] std::string_view param_text(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> query_text(std::string_view name) const;

  exchange* on_;
  const route_match* match_ = nullptr;
};

}  // namespace heddle::http
