// SPDX-License-Identifier: MIT
// Media types: a binary search by extension.
#include "heddle/http/mime.hh"

#include <algorithm>
#include <array>
#include <iterator>

#include "mime_table.hh"

namespace heddle::http {
namespace {

using detail::mime_row;
using detail::mime_rows;

constexpr std::size_t extension_bytes_max = 12;

constexpr bool table_sound() {
  for (std::size_t i = 0; i < std::size(mime_rows); ++i) {
    if (mime_rows[i].extension.size() > extension_bytes_max) return false;
    if (i > 0 && !(mime_rows[i - 1].extension < mime_rows[i].extension)) return false;
  }
  return true;
}
static_assert(table_sound(), "mime_types.txt has an extension twice, or one longer than the limit");

}  // namespace

std::string_view mime_type_of(std::string_view path) {
  std::size_t dot = path.rfind('.');
  if (dot == path.npos || path.find('/', dot) != path.npos) return mime_default;
  std::string_view extension = path.substr(dot + 1);
  if (extension.size() > extension_bytes_max) return mime_default;
  std::array<char, extension_bytes_max> lower{};
  for (std::size_t i = 0; i < extension.size(); ++i) {
    char c = extension[i];
    lower[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  std::string_view wanted{lower.data(), extension.size()};
  const mime_row* row = std::lower_bound(
      std::begin(mime_rows), std::end(mime_rows), wanted,
      [](const mime_row& left, std::string_view right) { return left.extension < right; });
  return row != std::end(mime_rows) && row->extension == wanted ? row->type : mime_default;
}

bool mime_compressible(std::string_view type) {
  std::string_view bare = type.substr(0, type.find(';'));
  if (bare.starts_with("text/") || bare.ends_with("+xml") || bare.ends_with("+json")) return true;
  constexpr std::string_view others[] = {"application/json",
                                         "application/x-ndjson",
                                         "application/yaml",
                                         "application/toml",
                                         "application/wasm",
                                         "application/rtf",
                                         "application/graphql",
                                         "application/xml-dtd",
                                         "font/ttf",
                                         "font/otf",
                                         "image/bmp",
                                         "image/x-icon",
                                         "application/vnd.ms-fontobject",
                                         "application/vnd.apple.mpegurl"};
  return std::find(std::begin(others), std::end(others), bare) != std::end(others);
}

std::size_t mime_extension_count() { return std::size(mime_rows); }

}  // namespace heddle::http
