// SPDX-License-Identifier: MIT
// Conditional requests (RFC 9110 section 13): evaluates the five preconditions, in the order that
// the RFC requires, against the known state of the representation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "heddle/http/request.hh"

namespace heddle::http {

// The state of the representation that the server would send.
struct validators {
  // The entity tag with its quotes, and W/ before it if it is weak; "" if there is none.
  std::string_view etag;
  // Seconds since 1970, as in Last-Modified.
  std::optional<std::int64_t> last_modified;
  // False if there is no representation; "*" then matches nothing.
  bool exists = true;
};

enum class condition : std::uint8_t {
  proceed,              // carry the method out
  not_modified,         // 304, for GET and HEAD
  precondition_failed,  // 412
};

struct condition_result {
  condition what = condition::proceed;
  // The server may honour the Range field: it is present, the method is GET, and If-Range agrees.
  bool use_range = false;
};

// `now` is the current time in seconds. It resolves two-digit years, and decides whether a
// modification time is old enough to be a strong validator in If-Range.
condition_result evaluate(const request_head& head, const validators& current, std::int64_t now);

}  // namespace heddle::http
