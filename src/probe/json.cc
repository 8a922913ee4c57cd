// SPDX-License-Identifier: MIT
// Escapes JSON strings (RFC 8259 section 7).
#include "heddle/probe/json.hh"

#include <cstdio>

namespace heddle {

std::string json_quoted(std::string_view text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      s += '\\';
      s += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      s += code;
    } else {
      s += c;
    }
  }
  return s + '"';
}

}  // namespace heddle
