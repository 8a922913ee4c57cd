// SPDX-License-Identifier: MIT
// Text to tokens. A newline is a token unless it lies inside ( ) or [ ]; several count as one.
#pragma once

#include <vector>

#include "draft/token.hh"
#include "source/diagnostic.hh"

namespace heddle::draft {

struct lexed {
  std::vector<token> tokens;  ///< the last is token_kind::end
  std::vector<comment> comments;
};

/// Never fails: bytes that are no token are reported and become token_kind::bad.
[[nodiscard]] lexed lex(const source::source_file& file, source::diagnostics& report);

/// The bytes that a text literal means, without its quotes; escapes were checked by lex().
[[nodiscard]] std::string decode_text(std::string_view literal);

/// One line a token: position, kind, text. The result of `--emit tokens`.
[[nodiscard]] std::string print_tokens(const source::source_file& file, const lexed& in);

}  // namespace heddle::draft
