// SPDX-License-Identifier: MIT
// The failed orders of a certificate as one line in the store, so that a server that its manager
// restarts again and again does not order each time: authorities count failed orders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::acme::detail {

/// Moments are seconds since 1970.
struct failure_record {
  std::uint32_t failures = 0;
  std::int64_t next = 0;           // the next attempt
  std::int64_t limited_until = 0;  // the authority asked not to come before
  std::vector<std::string> names = {};

  bool operator==(const failure_record&) const = default;
};

/// Writes the line "FAILURES NEXT LIMITED_UNTIL NAME,NAME,...\n".
[[nodiscard]] std::string text_of(const failure_record& r);
/// Reads the line; nothing for a text of another form.
[[nodiscard]] std::optional<failure_record> failure_record_of(std::string_view text);

}  // namespace heddle::acme::detail
