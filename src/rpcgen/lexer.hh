// SPDX-License-Identifier: MIT
// Tokens of .x files (RFC 4506 section 6.2). Comments are `/* */` and `//`. A line that begins with
// `%` is a token of its own; lines that begin with `#` and a number or `line`, the marks of a
// preprocessor, are skipped.
#pragma once

#include "source/diagnostic.hh"

namespace heddle::rpcgen {

enum class token_kind : std::uint8_t { word, number, mark, verbatim, end };

struct token {
  token_kind kind = token_kind::end;
  source::span at;
  std::string_view text;  ///< text of the token; a verbatim line is without its `%`
};

/// Thread: one. Owns: nothing; the file must stay.
class lexer {
 public:
  lexer(const source::source_file& file, source::diagnostics& found) : file_(file), found_(found) {}
  [[nodiscard]] token next();

 private:
  void skip_blanks();
  void skip_line();
  [[nodiscard]] token make(token_kind kind, std::uint32_t from) const;

  const source::source_file& file_;
  source::diagnostics& found_;
  std::uint32_t at_ = 0;
};

}  // namespace heddle::rpcgen
