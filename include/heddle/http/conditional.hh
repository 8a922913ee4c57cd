// SPDX-License-Identifier: MIT
// Conditional requests (RFC 9110 section 13): the five preconditions, in the order in which they
// are to be evaluated, against what is known of the representation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "heddle/http/request.hh"

namespace heddle::http {

// What a server knows of the representation that it would send.
struct validators {
  // With its quotes, and W/ before it if it is weak; "" when there is none.
  std::string_view etag;
  // Seconds since 1970, as Last-Modified tells it.
  std::optional<std::int64_t> last_modified;
  // False when there is no representation: "*" then matches nothing.
  bool exists = true;
};

enum class condition : std::uint8_t {
  proceed,              // carry the method out
  not_modified,         // 304, for GET and HEAD
  precondition_failed,  // 412
};

struct condition_result {
  condition what = condition::proceed;
  // A Range field may be used: there is one, the method is GET, and If-Range agrees.
  bool use_range = false;
};

// `now` is the present second: it dates two-digit years, and decides whether a modification time
// is old enough to count as a strong validator in If-Range.
condition_result evaluate(const request_head& head, const validators& current, std::int64_t now);

}  // namespace heddle::http
