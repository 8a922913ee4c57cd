// SPDX-License-Identifier: MIT
// A request as a client sends it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"

namespace heddle::http {

/// Gives the next part of a body, and "" at its end. send() waits for a call under way, so the
/// function may use the caller's variables. With open() the call is asked to end when the answer
/// ends, and is not waited for: let such a function own what it uses.
using body_source = std::function<task<std::string>()>;

/// Thread: one color. Owns: its texts. Fails: the client refuses a bad one with invalid_argument:
///   a name that is no token, a value with a line end, and fields that the client sends itself
///   (Host, Connection, Content-Length, Transfer-Encoding and the like).
///
///   co_await web.send(http::outgoing("PUT", url).header("If-Match", tag).body("text/plain",
///   text));
class outgoing {
 public:
  struct field {
    std::string name;
    std::string value;
    bool secret = false;
  };

  outgoing(std::string method, std::string url)
      : method_(std::move(method)), url_(std::move(url)) {}

  outgoing& header(std::string_view name, std::string_view value) & {
    fields_.push_back({std::string(name), std::string(value)});
    return *this;
  }
  /// A field for this origin alone: a redirect to another one drops it. Authorization and Cookie
  /// are always treated so.
  outgoing& secret(std::string_view name, std::string_view value) & {
    fields_.push_back({std::string(name), std::string(value), true});
    return *this;
  }
  outgoing& body(std::string_view type, std::string bytes) & {
    type_ = type;
    bytes_ = std::move(bytes);
    has_body_ = true;
    return *this;
  }
  /// A body that is sent while it is made; chunked if its length is not known. Such a request is
  /// never repeated, and a redirect that would need its body again is given as it is.
  outgoing& body(std::string_view type, body_source parts,
                 std::optional<std::uint64_t> length = std::nullopt) & {
    type_ = type;
    parts_ = std::move(parts);
    length_ = length;
    has_body_ = true;
    return *this;
  }
  /// Sets a timeout that replaces client_timeouts::whole.
  outgoing& timeout(nanoseconds whole) & {
    timeout_ = whole;
    return *this;
  }

  // Each of these functions on a temporary.
  outgoing&& header(std::string_view name, std::string_view value) && {
    return std::move(header(name, value));
  }
  outgoing&& secret(std::string_view name, std::string_view value) && {
    return std::move(secret(name, value));
  }
  outgoing&& body(std::string_view type, std::string bytes) && {
    return std::move(body(type, std::move(bytes)));
  }
  outgoing&& body(std::string_view type, body_source parts,
                  std::optional<std::uint64_t> length = std::nullopt) && {
    return std::move(body(type, std::move(parts), length));
  }
  /// Refuses what GCC 12 would destroy twice: a request is mostly made in a co_await expression.
  template <heddle::detail::closure_ends_twice Parts>
  outgoing&& body(std::string_view type, Parts&& parts,
                  std::optional<std::uint64_t> length = std::nullopt) && {
    heddle::detail::check_closures<Parts>();
    return std::move(body(type, body_source(parts), length));
  }
  outgoing&& timeout(nanoseconds whole) && { return std::move(timeout(whole)); }

  [[nodiscard]] const std::string& method() const noexcept { return method_; }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] const std::vector<field>& fields() const noexcept { return fields_; }
  [[nodiscard]] bool has(std::string_view name) const noexcept;
  [[nodiscard]] bool has_body() const noexcept { return has_body_; }
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] const body_source& parts() const noexcept { return parts_; }
  [[nodiscard]] std::optional<std::uint64_t> length() const noexcept { return length_; }
  [[nodiscard]] std::optional<nanoseconds> timeout() const noexcept { return timeout_; }

  // For redirects.

  /// Turns the request into a GET without a body (HEAD stays HEAD).
  void become_get();
  /// Drops the fields that only the first origin may see.
  void drop_secrets();

 private:
  std::string method_;
  std::string url_;
  std::vector<field> fields_;
  std::string type_;
  std::string bytes_;
  body_source parts_;
  std::optional<std::uint64_t> length_;
  std::optional<nanoseconds> timeout_;
  bool has_body_ = false;
};

}  // namespace heddle::http
