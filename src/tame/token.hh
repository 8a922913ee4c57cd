// SPDX-License-Identifier: MIT
// The tokens of a C++ file. They cover the file: their texts in a row are the file, byte for byte.
// A preprocessor line is one token, and its body is tokenized too. Bytes of any encoding pass; a
// line splice is part of the token around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tame {

enum class token_kind : std::uint8_t {
  space,  ///< also a byte order mark
  comment,
  identifier,
  number,
  text,       ///< a string literal with its prefix and suffix, raw or not
  character,  ///< a character literal
  punctuator,
  directive,  ///< a preprocessor line, without its line end
  other,      ///< a byte that begins no token
};

/// Words that the translator knows. Everything else is word::none.
enum class word : std::uint8_t {
  none,
  tamed_,
  tvars_,
  twait_,
  make_event_,
  mkevent_,
  tamer_,
  tamerpriv_,
  holdvar_,
  closure_,
  self_,
  default_return_,
  catch_,
  case_,
  class_,
  co_await_,
  co_return_,
  const_,
  consteval_,
  constexpr_,
  decltype_,
  default_,
  delete_,
  do_,
  else_,
  enum_,
  explicit_,
  extern_,
  for_,
  friend_,
  goto_,
  if_,
  inline_,
  mutable_,
  namespace_,
  noexcept_,
  operator_,
  requires_,
  return_,
  static_,
  struct_,
  switch_,
  template_,
  this_,
  throw_,
  try_,
  typedef_,
  typename_,
  union_,
  using_,
  virtual_,
  void_,
  volatile_,
  while_,
  auto_,
  alignas_,
  attribute_,
  break_,
  continue_,
  builtin_type_,
  thread_local_,
  // Directives.
  define_,
  elif_,
  endif_,
  ifdef_,
  ifndef_,
  include_,
  line_,
  undef_,
  gather_,  ///< heddle_gather: the output of this tool
};

/// A punctuator in one number: its characters, the first in the lowest byte. Digraphs count as the
/// punctuators that they mean.
[[nodiscard]] constexpr std::uint32_t punct(const char* text) noexcept {
  std::uint32_t code = 0;
  for (int i = 0; text[i] != '\0' && i < 4; ++i)
    code |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return code;
}

struct token {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  token_kind kind = token_kind::other;
  word name = word::none;   ///< the word of an identifier
  bool spliced = false;     ///< a line splice is in the token
  bool open = false;        ///< a comment or raw string that does not end
  std::uint32_t code = 0;   ///< a punctuator's punct()
  std::uint32_t first = 0;  ///< the first token of a directive in token_list::inside, `#`
  std::uint32_t count = 0;

  [[nodiscard]] bool is(const char* p) const noexcept {
    return kind == token_kind::punctuator && code == punct(p);
  }
  [[nodiscard]] bool is(word w) const noexcept {
    return kind == token_kind::identifier && name == w;
  }
  [[nodiscard]] bool significant() const noexcept {
    return kind != token_kind::space && kind != token_kind::comment;
  }
};

struct token_list {
  std::string_view text;
  std::vector<token> all;
  std::vector<token> inside;  ///< tokens of the directives

  [[nodiscard]] std::string_view text_of(const token& t) const noexcept {
    return text.substr(t.begin, t.end - t.begin);
  }
  /// The token's text without line splices.
  [[nodiscard]] std::string spelling(const token& t) const;
};

/// Takes any bytes and never fails. Linear time. `text` must outlive the list.
[[nodiscard]] token_list tokenize(std::string_view text);

/// The word that an identifier is, or word::none.
[[nodiscard]] word word_of(std::string_view identifier) noexcept;

}  // namespace heddle::tame
