// SPDX-License-Identifier: MIT
// Paths and queries of request targets: decoding that nothing slips through, and encoding for
// links. The decoded path is what names a file or matches a route; it is decoded once only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace heddle::http {

// What "%2F" in a path means. It is not a separator (RFC 3986 section 2.2), and a file name cannot
// hold one, so file servers refuse it; routers may want it kept as it is.
enum class encoded_slash : std::uint8_t { refuse, keep };

struct path_rules {
  encoded_slash slashes = encoded_slash::refuse;
  bool merge_slashes = true;  // "//" is "/"; a file system sees no difference
};

enum class path_problem : std::uint8_t {
  not_absolute,   // does not start with '/'
  escape_broken,  // '%' without two hexadecimal digits
  control_byte,   // NUL or another control character, plain or encoded
  slash_encoded,  // "%2F" where the rules refuse it
  backslash,      // '\', plain or encoded: a separator to some, a letter to others
  above_root,     // ".." climbs out of the root
  too_long,       // `room` is smaller than the path
};

std::string_view describe(path_problem what);

// Percent-decodes and removes dot segments, which also count when they are encoded. The result
// starts with '/' and has no "." or ".." segment. A path with nothing to decode is answered with a
// view of `raw`; only others are written to `room`, which needs raw.size() bytes at most.
std::expected<std::string_view, path_problem> decode_path(std::string_view raw,
                                                          std::span<char> room,
                                                          path_rules rules = {});

// Splits "path?query" at the first '?'. The fragment is not sent, and not looked for.
struct target_parts {
  std::string_view path;
  std::string_view query;
};
target_parts split_target(std::string_view target);

// One name=value pair of a query or a form, still encoded.
struct query_pair {
  std::string_view name;
  std::string_view value;
  bool has_value = false;  // tells "a=" from "a"
};

// Takes the next pair off `rest`; empty ones ("a&&b") are skipped. False: the end.
bool take_query_pair(std::string_view& rest, query_pair& pair);

// Decodes a name or value of a query or form: '+' is a space. Bytes may be anything, NUL included,
// for the caller to judge. Empty answer: a broken escape, or more than `room` holds. Text without
// anything to decode is answered with a view of itself.
std::expected<std::string_view, path_problem> decode_form(std::string_view raw,
                                                          std::span<char> room);

// Appends `path` percent-encoded for a link, slashes kept: what decode_path makes of the result is
// the same path again.
void append_encoded_path(std::string& out, std::string_view path);

// The same for one segment, name or value: a slash is encoded too.
void append_encoded(std::string& out, std::string_view text);

// Appends text for an HTML page: & < > " and ' become entities, so that it may stand in an element
// or in a quoted attribute.
void append_html(std::string& out, std::string_view text);

}  // namespace heddle::http
