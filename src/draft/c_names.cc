// SPDX-License-Identifier: MIT
// Names and literals as C spells them.
#include "draft/c_names.hh"

#include <set>

namespace heddle::draft {

bool is_c_word(std::string_view name) {
  static const std::set<std::string_view> words = {
      // clang-format off
      "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
      "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
      "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
      "union", "unsigned", "void", "volatile", "while", "bool", "true", "false", "NULL", "main",
      "f", "w", "self", "status", "bad", "asm", "typeof", "errno", "stdin", "stdout", "stderr",
      "linux", "unix", "alignof", "alignas", "nullptr", "constexpr", "thread_local",
      "static_assert", "turn", "run", "h", "wait", "arm", "offsetof", "EOF", "INT64_MIN",
      "INT64_MAX",
      "UINT32_MAX", "INT64_C", "UINT64_C"
      // clang-format on
  };
  return words.count(name) != 0;
}

std::string c_name(const std::string& name) { return is_c_word(name) ? name + "_" : name; }

std::string c_text(const std::string& s) {
  std::string out = "\"";
  bool hex = false;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    static constexpr char digits[] = "0123456789abcdef";
    const bool is_hex_digit =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (hex && is_hex_digit) out += "\" \"";
    hex = false;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '?') {
      out += "\\?";  // no trigraphs
    } else if (u >= 0x20 && u < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', digits[u >> 4], digits[u & 15]};
      hex = true;
    }
  }
  return out + "\"";
}

std::string int_name(const type& t) {
  if (t.is(kind::enumeration)) return int_name(*t.values->base);
  if (!t.is_integer()) return "i64";
  return (t.is_signed() ? "i" : "u") + std::to_string(t.bits());
}

}  // namespace heddle::draft
