// SPDX-License-Identifier: MIT
// Request methods. The common registered ones have a number; any other valid token is
// `method::other`, and the request keeps its text. Methods are case-sensitive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::http {

enum class method : std::uint8_t {
  other,
  get,
  head,
  post,
  put,
  delete_,
  connect,
  options,
  trace,
  patch,
  query,  ///< a question in the body (RFC 10008)
};

/// How many values `method` has.
inline constexpr std::size_t method_count = static_cast<std::size_t>(method::query) + 1;

// The token of a method; "" for `other`.
std::string_view name_of(method verb);

// The method of a token; `other` if it has no number.
method method_of(std::string_view token);

// Whether a method is safe: it asks the server to change nothing (RFC 9110 section 9.2.1, RFC 10008
// for QUERY).
constexpr bool safe(method verb) {
  return verb == method::get || verb == method::head || verb == method::options ||
         verb == method::trace || verb == method::query;
}

// Whether a method is idempotent: a client may repeat it after a broken connection (RFC 9110
// section 9.2.2).
constexpr bool idempotent(method verb) {
  return safe(verb) || verb == method::put || verb == method::delete_;
}

}  // namespace heddle::http
