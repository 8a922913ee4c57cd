// SPDX-License-Identifier: MIT
// Encodes text for links: the writing functions of uri.hh.
#include <algorithm>

#include "heddle/http/detail/charset.hh"
#include "heddle/http/uri.hh"

namespace heddle::http {
namespace {

void append_escaped(std::string& out, std::string_view text, bool slashes_stay) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (detail::is(c, detail::unreserved_byte) || (c == '/' && slashes_stay)) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
}

}  // namespace

void append_encoded_path(std::string& out, std::string_view path) {
  append_escaped(out, path, true);
}

void append_encoded(std::string& out, std::string_view text) { append_escaped(out, text, false); }

std::string own_location(std::string_view reference, std::string_view origin) {
  std::string out(origin);
  if (origin.empty())
    reference.remove_prefix(std::min(reference.find_first_not_of("/\\"), reference.size()));
  if (!reference.starts_with('/')) out += '/';
  for (const char c : reference) {
    const bool plain = c > 0x20 && c < 0x7f && !std::string_view("\"<>\\^`{|}").contains(c);
    if (plain)
      out += c;
    else
      append_encoded(out, std::string_view(&c, 1));
  }
  return out;
}

}  // namespace heddle::http
