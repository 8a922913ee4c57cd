// SPDX-License-Identifier: MIT
// Cuts SQL into tokens; see pg_tokens.hh.
#include "fakes/pg_tokens.hh"

#include "fakes/pg_error.hh"
#include "fakes/small_letters.hh"

namespace heddle::fakes::detail {
namespace {

constexpr std::uint32_t parameter_max = 65535;  // Bind counts them in 16 bits

bool is_digit_of_sql(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool goes_on_word(char c) { return begins_word(c) || is_digit_of_sql(c) || c == '$'; }

[[noreturn]] void bad_token(const std::string& why) { throw pg_error(sqlstate::syntax_error, why); }

class cutter {
 public:
  explicit cutter(std::string_view text) : rest_(text) {}

  sql_token next() {
    skip_space();
    sql_token made;
    if (rest_.empty()) return made;
    const char c = rest_[0];
    if ((c == 'e' || c == 'E') && rest_.size() > 1 && rest_[1] == '\'') {
      rest_.remove_prefix(1);
      made.is = sql_token::kind::text;
      made.text = literal('\'', true);
    } else if (begins_word(c)) {
      made.is = sql_token::kind::word;
      while (!rest_.empty() && goes_on_word(rest_[0])) made.text += small_letter(take());
    } else if (c == '\'') {
      made.is = sql_token::kind::text;
      made.text = literal('\'', false);
    } else if (c == '"') {
      made.is = sql_token::kind::quoted;
      made.text = literal('"', false);
      if (made.text.empty()) bad_token("a quoted name is empty");
    } else if (is_digit_of_sql(c)) {
      number(made);
    } else if (c == '$' && rest_.size() > 1 && is_digit_of_sql(rest_[1])) {
      parameter(made);
    } else {
      made.is = sql_token::kind::symbol;
      made.text = rest_.starts_with("::") ? "::" : std::string(1, c);
      if (std::string_view("(),;=*.:-").find(c) == std::string_view::npos || made.text == ":")
        bad_token("the fake knows no \"" + made.text + "\" in SQL");
      rest_.remove_prefix(made.text.size());
    }
    return made;
  }

 private:
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  void skip_space() {
    for (;;) {
      if (rest_.starts_with("--")) {
        const std::size_t end = rest_.find('\n');
        rest_.remove_prefix(end == rest_.npos ? rest_.size() : end);
      } else if (rest_.starts_with("/*")) {
        skip_comment();
      } else if (!rest_.empty() &&
                 std::string_view(" \t\r\n\f\v").find(rest_[0]) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }

  void skip_comment() {
    for (std::size_t depth = 0;;) {  // comments nest
      const std::size_t at = rest_.find_first_of("/*");
      if (at == rest_.npos) bad_token("a comment has no end");
      rest_.remove_prefix(at);
      if (rest_.starts_with("/*")) {
        ++depth;
        rest_.remove_prefix(2);
      } else if (rest_.starts_with("*/")) {
        rest_.remove_prefix(2);
        if (--depth == 0) return;
      } else {
        rest_.remove_prefix(1);
      }
    }
  }

  std::string literal(char quote, bool escapes) {
    std::string made;
    take();
    for (;;) {
      if (rest_.empty()) bad_token("a literal in quotes has no end");
      const char c = take();
      if (c == quote) {
        if (rest_.empty() || rest_[0] != quote) return made;
        made += take();
      } else if (escapes && c == '\\') {
        if (rest_.empty()) bad_token("a literal in quotes has no end");
        made += escaped(take());
      } else {
        made += c;
      }
    }
  }

  static char escaped(char c) {
    constexpr std::string_view letters = "\\'bfnrt", bytes = "\\'\b\f\n\r\t";
    const std::size_t at = letters.find(c);
    if (at == letters.npos)
      throw pg_error(sqlstate::not_supported, std::string("the fake knows no escape \\") + c +
                                                  R"( in E'...'; it knows \\ \' \b \f \n \r \t)");
    return bytes[at];
  }

  void number(sql_token& made) {
    made.is = sql_token::kind::number;
    while (!rest_.empty() && is_digit_of_sql(rest_[0])) made.text += take();
    if (rest_.size() > 1 && rest_[0] == '.' && is_digit_of_sql(rest_[1])) {
      made.text += take();
      while (!rest_.empty() && is_digit_of_sql(rest_[0])) made.text += take();
    }
    if (!rest_.empty() && begins_word(rest_[0]))
      bad_token("\"" + made.text + rest_[0] + "\" is no number");
  }

  void parameter(sql_token& made) {
    made.is = sql_token::kind::parameter;
    take();
    while (!rest_.empty() && is_digit_of_sql(rest_[0])) {
      made.number = made.number * 10 + static_cast<std::uint32_t>(rest_[0] - '0');
      made.text += take();
      if (made.number > parameter_max) break;
    }
    if (made.number == 0 || made.number > parameter_max)
      throw pg_error(sqlstate::no_parameter, "parameters are $1 to $65535, not $" + made.text);
  }

  std::string_view rest_;
};

}  // namespace

std::vector<sql_token> sql_tokens(std::string_view text) {
  if (text.find('\0') != text.npos) bad_token("SQL has no zero bytes");
  cutter from(text);
  std::vector<sql_token> all;
  do all.push_back(from.next());
  while (all.back().is != sql_token::kind::end);
  return all;
}

}  // namespace heddle::fakes::detail
