// SPDX-License-Identifier: MIT
// Paths and queries of request targets: strict decoding, and encoding for links. A path is decoded
// exactly once, before it names a file or matches a route.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "heddle/base/language.hh"
#include "heddle/base/text.hh"

namespace heddle::http {

// The treatment of "%2F" in a path. It is not a separator (RFC 3986 section 2.2), and a file name
// cannot contain a slash, so file servers refuse it; a router may want to keep it as it is.
enum class encoded_slash : std::uint8_t { refuse, keep };

struct path_rules {
  encoded_slash slashes = encoded_slash::refuse;
  bool merge_slashes = true;  // "//" is "/", as for a file system
  // "%5C" is an ordinary character of a name, as for the file systems of Linux. If false, a path
  // with one is refused, because other programs that see the path may take it for a separator.
  bool encoded_backslash = false;
};

enum class path_problem : std::uint8_t {
  not_absolute,   // does not start with '/'
  escape_broken,  // '%' without two hexadecimal digits
  control_byte,   // NUL or another control character, plain or encoded
  slash_encoded,  // "%2F" where the rules refuse it
  backslash,      // '\', plain, or encoded where the rules refuse it
  above_root,     // ".." climbs out of the root
  too_long,       // `room` is smaller than the path
};

std::string_view describe(path_problem what);

// Percent-decodes a path and removes dot segments, encoded ones too. The result starts with '/' and
// has no "." or ".." segment. If there is nothing to decode, the result is a view of `raw`;
// otherwise it is written to `room`, which needs raw.size() bytes at most.
std::expected<std::string_view, path_problem> decode_path(std::string_view raw,
                                                          std::span<char> room,
                                                          path_rules rules = {});

// Splits "path?query" at the first '?'. Clients do not send a fragment, so none is looked for.
struct target_parts {
  std::string_view path;
  std::string_view query;
};
target_parts split_target(std::string_view target);

// One name=value pair of a query or a form, still encoded.
struct query_pair {
  std::string_view name;
  std::string_view value;
  bool has_value = false;  // distinguishes "a=" from "a"
};

// Takes the next pair off `rest`; skips empty ones ("a&&b"). False at the end.
bool take_query_pair(std::string_view& rest, query_pair& pair);

// Decodes a name or value of a query or form: '+' is a space. The result may hold any bytes, NUL
// included; the caller must check them. Fails for a broken escape, or if `room` is too small. If
// there is nothing to decode, the result is a view of `raw`.
std::expected<std::string_view, path_problem> decode_form(std::string_view raw,
                                                          std::span<char> room);

// Appends `path` percent-encoded for a link, with its slashes kept; decode_path() gives it back.
void append_encoded_path(std::string& out, std::string_view path);

// Appends one segment, name or value percent-encoded: a slash is encoded too.
void append_encoded(std::string& out, std::string_view text);

// The value of a Location field for this server itself. `reference` is a path, with its query and
// fragment if there are any, percent-encoded as in a request. The result begins with exactly one
// slash, because browsers take "//name" and "/\name" for another host; characters that a reference
// cannot have are encoded. With an origin ("https://host"), which is put in front, all slashes
// stay. Every Location is made here.
std::string own_location(std::string_view reference, std::string_view origin = {});

// Appends text escaped for an HTML page: & < > " and ' become entities, so that the text can be
// used in an element or in a quoted attribute.
inline void append_html(std::string& out, std::string_view text) { append_markup_text(out, text); }

}  // namespace heddle::http
