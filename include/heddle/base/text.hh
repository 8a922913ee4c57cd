// SPDX-License-Identifier: MIT
// Makes text from elsewhere safe to show: inside HTML, XML or SVG, and in a line for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "heddle/base/language.hh"

namespace heddle {

/// Appends text for an element or a quoted attribute of HTML, XML or SVG: & < > " and ' become
/// entities. Control characters that XML forbids are left out.
inline void append_markup_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r') out += c;
    }
  }
}

/// Appends text for between quotes: quotes, backslashes, and bytes that are not printable ASCII
/// become \xHH.
inline void append_quotable_text(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
    }
  }
}

/// The text as one line of an error or a log shows it: each byte that is not printable ASCII
/// becomes '?'. A text of more than `bytes_max` bytes is cut there and ends in "...".
[[nodiscard]] inline std::string printable_text(std::string_view text, std::size_t bytes_max) {
  std::string shown(text.substr(0, bytes_max));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  if (text.size() > bytes_max) shown += "...";
  return shown;
}

}  // namespace heddle
