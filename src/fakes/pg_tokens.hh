// SPDX-License-Identifier: MIT
// Words, literals and symbols of SQL (PostgreSQL manual, section "Lexical Structure").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::fakes::detail {

struct sql_token {
  enum class kind : std::uint8_t { word, quoted, text, number, parameter, symbol, end };
  kind is = kind::end;
  std::string text;          ///< a word in small letters; a literal without its quotes
  std::uint32_t number = 0;  ///< number of a parameter
};

/// Cuts a text into tokens; the last one is `end`. Comments and white space are left out.
/// Fails: pg_error(42601) for a literal or comment without end and for other bytes; 0A000 for an
/// escape in E'...' that is none of \\ \' \b \f \n \r \t.
[[nodiscard]] std::vector<sql_token> sql_tokens(std::string_view text);

}  // namespace heddle::fakes::detail
