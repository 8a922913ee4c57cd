// SPDX-License-Identifier: MIT
// Request methods: the registered ones that a server meets daily have a number, every other valid
// token is `method::other` and keeps its text in the request. Methods are case-sensitive.
#pragma once

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
};

// The token of a method; "" for `other`.
std::string_view name_of(method verb);

// The method of a token, `other` when it is not one of the list.
method method_of(std::string_view token);

// Safe methods ask for nothing to be changed (RFC 9110 section 9.2.1).
constexpr bool safe(method verb) {
  return verb == method::get || verb == method::head || verb == method::options ||
         verb == method::trace;
}

// Idempotent methods may be repeated after a broken connection (RFC 9110 section 9.2.2).
constexpr bool idempotent(method verb) {
  return safe(verb) || verb == method::put || verb == method::delete_;
}

}  // namespace heddle::http
