// SPDX-License-Identifier: MIT
// The table of problems: name, status, sentence. A row's index is the enumerator's number.
#include "heddle/http/problem.hh"

#include <array>
#include <cstddef>

namespace heddle::http {
namespace {

struct row {
  problem what;
  std::string_view name;
  int status;
  std::string_view sentence;
};

using enum problem;

constexpr std::array<row, problem_count> rows{{
    {none, "none", 200, "nothing is wrong"},
    {empty_lines_too_many, "empty_lines_too_many", 400,
     "too many empty lines before the request line"},
    {method_bad_byte, "method_bad_byte", 400, "the method is not a token followed by one space"},
    {method_too_long, "method_too_long", 501, "the method is longer than any registered method"},
    {target_empty, "target_empty", 400,
     "the request target is empty; exactly one space precedes it"},
    {target_bad_byte, "target_bad_byte", 400,
     "the request target contains a byte that must be percent-encoded"},
    {target_too_long, "target_too_long", 414, "the request line is longer than the limit"},
    {target_form_bad, "target_form_bad", 400,
     "the request target has a form that this method does not allow"},
    {authority_bad, "authority_bad", 400,
     "the authority in the request target is not a host with an optional port"},
    {version_missing, "version_missing", 400,
     "the request line ends before the version (HTTP/0.9 is not supported)"},
    {version_malformed, "version_malformed", 400,
     "the target is not followed by HTTP/ with two digits and a line end"},
    {version_unsupported, "version_unsupported", 505, "only HTTP/1.0 and 1.1 are supported"},
    {bare_cr, "bare_cr", 400, "a carriage return is not followed by a line feed"},
    {bare_lf, "bare_lf", 400, "a line feed is not preceded by a carriage return"},
    {line_folded, "line_folded", 400,
     "a field line starts with whitespace; folded lines are obsolete"},
    {name_empty, "name_empty", 400, "a field line has no name before its colon"},
    {name_bad_byte, "name_bad_byte", 400,
     "a field name contains a byte that is not allowed in names"},
    {space_before_colon, "space_before_colon", 400,
     "there is whitespace between a field name and its colon"},
    {colon_missing, "colon_missing", 400, "a field line has no colon"},
    {value_bad_byte, "value_bad_byte", 400, "a field value contains a control character"},
    {headers_too_large, "headers_too_large", 431, "the field lines take more bytes than the limit"},
    {headers_too_many, "headers_too_many", 431, "there are more field lines than the limit"},
    {host_missing, "host_missing", 400, "an HTTP/1.1 request needs a Host field"},
    {host_repeated, "host_repeated", 400, "there is more than one Host field"},
    {host_bad, "host_bad", 400, "the Host field is not a host with an optional port"},
    {length_malformed, "length_malformed", 400, "Content-Length is not a plain decimal number"},
    {length_repeated, "length_repeated", 400, "Content-Length is given more than once"},
    {length_overflow, "length_overflow", 400, "Content-Length does not fit into 63 bits"},
    {length_and_encoding, "length_and_encoding", 400,
     "Content-Length and Transfer-Encoding exclude each other"},
    {encoding_in_http10, "encoding_in_http10", 400, "HTTP/1.0 has no Transfer-Encoding"},
    {encoding_not_chunked, "encoding_not_chunked", 400,
     "the last transfer coding of a request has to be chunked"},
    {encoding_chunked_twice, "encoding_chunked_twice", 400,
     "the chunked coding may be applied only once"},
    {encoding_unknown, "encoding_unknown", 501, "chunked is the only supported transfer coding"},
    {body_too_large, "body_too_large", 413, "the body is larger than the limit"},
    {chunk_size_malformed, "chunk_size_malformed", 400,
     "a chunk does not start with a hexadecimal size and a line end"},
    {chunk_size_overflow, "chunk_size_overflow", 400,
     "a chunk size has more digits than any size needs"},
    {chunk_extension_malformed, "chunk_extension_malformed", 400,
     "a chunk extension is not ;name or ;name=value"},
    {chunk_extensions_too_large, "chunk_extensions_too_large", 400,
     "the chunk extensions of one body take more bytes than the limit"},
    {chunk_end_missing, "chunk_end_missing", 400,
     "a chunk's data is not followed by a line end; its size may be wrong"},
    {trailers_too_large, "trailers_too_large", 431,
     "the trailer lines take more bytes than the limit"},
    {status_line_malformed, "status_line_malformed", 400,
     "the answer does not start with HTTP/1.1 and a status of three digits"},
    {answer_of_http2, "answer_of_http2", 400,
     "the answer is a frame of HTTP/2, and the request was sent over HTTP/1.1"},
    {pseudo_late, "pseudo_late", 400, "a pseudo-header field such as :status follows other fields"},
    {pseudo_unknown, "pseudo_unknown", 400, "an answer has no pseudo-header field but :status"},
    {status_missing, "status_missing", 400, "the answer has no :status"},
    {status_repeated, "status_repeated", 400, "the answer has more than one :status"},
    {status_bad, "status_bad", 400, ":status is no status of three digits that HTTP/2 has"},
    {name_missing, "name_missing", 400, "a field has no name"},
    {name_upper_case, "name_upper_case", 400,
     "a field name has a capital letter, which HTTP/2 does not allow"},
    {value_blank, "value_blank", 400,
     "a field value begins or ends with a blank, which HTTP/2 does not allow"},
    {field_of_connection, "field_of_connection", 400,
     "a field is about one connection, such as Connection, which HTTP/2 does not allow"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].what) != i) return false;
  }
  return true;
}
static_assert(in_order(), "each problem has its row at its own number");

const row& row_of(problem what) { return rows[static_cast<std::size_t>(what)]; }

}  // namespace

int status_of(problem what) { return row_of(what).status; }
std::string_view describe(problem what) { return row_of(what).sentence; }
std::string_view name_of(problem what) { return row_of(what).name; }

}  // namespace heddle::http
