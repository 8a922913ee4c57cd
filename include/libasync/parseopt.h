/* SPDX-License-Identifier: MIT
 * libasync's reading of options: convertint() for numbers of the command line, and parseargs for
 * files of lines of words, with comments behind `#`.
 */
#pragma once

#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstdlib>
#include <limits>
#include <string>

#include "async.h"
#include "conftab.h"

/// Reads a whole number, decimal, octal behind 0 or hexadecimal behind 0x. False, and `out` stays,
/// if the text is another or the number does not fit.
template <std::integral Number>
[[nodiscard]] bool convertint(const char* text, Number* out) {
  if (text == nullptr) return false;
  const bool negative = *text == '-';
  const char* digits = text + (negative ? 1 : 0);
  int base = 10;
  if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits += 2;
  } else if (digits[0] == '0' && digits[1] != '\0') {
    base = 8;
    ++digits;
  }
  unsigned long long size = 0;
  const char* const end = digits + std::char_traits<char>::length(digits);
  const auto [stop, error] = std::from_chars(digits, end, size, base);
  if (error != std::errc() || stop != end) return false;
  using limits = std::numeric_limits<Number>;
  if (!negative) {
    if (size > static_cast<unsigned long long>(limits::max())) return false;
    *out = static_cast<Number>(size);
    return true;
  }
  if constexpr (std::signed_integral<Number>) {
    if (size > static_cast<unsigned long long>(limits::max()) + 1) return false;
    *out = static_cast<Number>(-static_cast<long long>(size - (size != 0)) - (size != 0));
    return true;
  }
  return false;
}

/// A file of lines of words. A word in double quotes may contain spaces; `\` before the end of a
/// line continues it.
class parseargs {
 public:
  /// A file that cannot be read is a fatal error.
  explicit parseargs(str file);
  /// The words of the next line that has any; false at the end of the file.
  [[nodiscard]] bool getline(vec<str>* words, int* line = nullptr);
  /// Ends the program with the message, and the file and line in front of it.
  [[noreturn]] void error(str message) const;

 private:
  str name_;
  std::string text_;
  std::size_t at_ = 0;
  int line_ = 0;
};
