// SPDX-License-Identifier: MIT
// The errors that a malformed request or answer can have, each with its status and a sentence for
// the log or the error page. After any of them the parser may be out of step with the client, so
// the answer is the last one on the connection.
// the last one on the connection.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::http {

enum class problem : std::uint8_t {
  none,
  // request line
  empty_lines_too_many,
  method_bad_byte,
  method_too_long,
  target_empty,
  target_bad_byte,
  target_too_long,
  target_form_bad,
  authority_bad,
  version_missing,
  version_malformed,
  version_unsupported,
  // lines
  bare_cr,
  bare_lf,
  line_folded,
  // field lines
  name_empty,
  name_bad_byte,
  space_before_colon,
  colon_missing,
  value_bad_byte,
  headers_too_large,
  headers_too_many,
  // meaning
  host_missing,
  host_repeated,
  host_bad,
  length_malformed,
  length_repeated,
  length_overflow,
  length_and_encoding,
  encoding_in_http10,
  encoding_not_chunked,
  encoding_chunked_twice,
  encoding_unknown,
  body_too_large,
  // chunked bodies
  chunk_size_malformed,
  chunk_size_overflow,
  chunk_extension_malformed,
  chunk_extensions_too_large,
  chunk_end_missing,
  trailers_too_large,
  // answers
  status_line_malformed,
  answer_of_http2,
  // heads of HTTP/2
  pseudo_late,
  pseudo_unknown,
  status_missing,
  status_repeated,
  status_bad,
  name_missing,
  name_upper_case,
  value_blank,
  field_of_connection,
};

inline constexpr std::uint8_t problem_count =
    static_cast<std::uint8_t>(problem::field_of_connection) + 1;

// The status that answers a problem: 400, 413, 414, 431, 501 or 505; 200 for `none`.
int status_of(problem what);

// One sentence: the error, and what a client should do instead if that helps.
std::string_view describe(problem what);

// The enumerator's name, for logs, counters and tables of cases.
std::string_view name_of(problem what);

}  // namespace heddle::http
