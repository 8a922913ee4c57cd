// SPDX-License-Identifier: MIT
// Tokens of Draft, and its words. The word list is the one source for the lexer, the formatter and
// the syntax files for editors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "source/source_file.hh"

namespace heddle::draft {

using source::span;

enum class token_kind : std::uint8_t {
  end,
  newline,  ///< one or several line ends that end a statement
  name,
  integer,
  duration,
  text,
  character,
  keyword,
  symbol,
  bad,  ///< already reported
};

// clang-format off
#define HEDDLE_DRAFT_WORDS(X)                                                                  \
  X(k_module, "module") X(k_use, "use") X(k_pub, "pub") X(k_const, "const")                    \
  X(k_record, "record") X(k_enum, "enum") X(k_extern, "extern") X(k_fn, "fn")                  \
  X(k_thread, "thread") X(k_main, "main") X(k_let, "let") X(k_var, "var") X(k_take, "take")    \
  X(k_if, "if") X(k_else, "else") X(k_while, "while") X(k_loop, "loop") X(k_for, "for")        \
  X(k_in, "in") X(k_match, "match") X(k_any, "any") X(k_wait, "wait") X(k_scope, "scope")      \
  X(k_nowait, "nowait") X(k_within, "within") X(k_shield, "shield") X(k_defer, "defer")        \
  X(k_return, "return") X(k_break, "break") X(k_continue, "continue") X(k_fail, "fail")        \
  X(k_or, "or") X(k_try, "try") X(k_move, "move") X(k_spawn, "spawn") X(k_true, "true")        \
  X(k_false, "false") X(k_none, "none")

#define HEDDLE_DRAFT_SYMBOLS(X)                                                                \
  X(s_lparen, "(") X(s_rparen, ")") X(s_lbracket, "[") X(s_rbracket, "]") X(s_lbrace, "{")     \
  X(s_rbrace, "}") X(s_comma, ",") X(s_colon, ":") X(s_dots, "..") X(s_dot, ".")               \
  X(s_question, "?") X(s_arrow, "->") X(s_darrow, "=>") X(s_add_wrap, "+%")                    \
  X(s_sub_wrap, "-%") X(s_mul_wrap, "*%") X(s_add_set, "+=") X(s_sub_set, "-=")                \
  X(s_mul_set, "*=") X(s_div_set, "/=") X(s_andand, "&&") X(s_oror, "||") X(s_eq, "==")        \
  X(s_ne, "!=") X(s_le, "<=") X(s_ge, ">=") X(s_shl, "<<") X(s_shr, ">>") X(s_add, "+")        \
  X(s_sub, "-") X(s_mul, "*") X(s_div, "/") X(s_mod, "%") X(s_and, "&") X(s_pipe, "|")         \
  X(s_xor, "^") X(s_tilde, "~") X(s_not, "!") X(s_lt, "<") X(s_gt, ">") X(s_set, "=")
// clang-format on

/// A keyword or a symbol.
enum class word : std::uint8_t {
  none,
#define HEDDLE_DRAFT_ENUM(id, text) id,
  HEDDLE_DRAFT_WORDS(HEDDLE_DRAFT_ENUM) HEDDLE_DRAFT_SYMBOLS(HEDDLE_DRAFT_ENUM)
#undef HEDDLE_DRAFT_ENUM
};

/// How a word is written.
[[nodiscard]] std::string_view spelling(word w) noexcept;
/// Every keyword, in the order of the list above.
[[nodiscard]] std::span<const std::string_view> keywords() noexcept;
/// Words with a meaning in one place only; elsewhere they are names: color, after, type, drop, ...
[[nodiscard]] std::span<const std::string_view> context_words() noexcept;
/// Names of the built-in types, generic ones first.
[[nodiscard]] std::span<const std::string_view> type_words() noexcept;
/// channel, broadcast, rendezvous, event, text, job: they take arguments in < >.
[[nodiscard]] bool is_generic(std::string_view name) noexcept;

struct token {
  token_kind kind = token_kind::end;
  word what = word::none;   ///< the keyword or symbol
  std::uint32_t begin = 0;  ///< first byte in the file
  std::uint32_t end = 0;
  std::uint64_t value = 0;  ///< integer, character, or duration in nanoseconds

  [[nodiscard]] bool is(word w) const noexcept { return what == w; }
};

/// A comment, for the formatter and the editor; without its line end.
struct comment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

}  // namespace heddle::draft
