// SPDX-License-Identifier: MIT
// The tokenizer: translation phases 1 to 3 of C++, with nothing thrown away.
#include "tame/token.hh"

namespace heddle::tame {
namespace {

bool is_identifier_start(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_identifier_part(char c) noexcept { return is_identifier_start(c) || is_digit(c); }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
bool is_space(char c) noexcept { return is_blank(c) || c == '\n' || c == '\r'; }

constexpr const char* punctuators[] = {
    // Longer ones first, so that the longest match wins.
    "%:%:", "...", "<=>", "<<=", ">>=", "->*", "::", "->", "++", "--", "<<",
    ">>",   "<=",  ">=",  "==",  "!=",  "&&",  "||", "+=", "-=", "*=", "/=",
    "%=",   "&=",  "|=",  "^=",  "##",  ".*",  "<%", "%>", "<:", ":>", "%:",
};

std::uint32_t without_digraph(std::uint32_t code) noexcept {
  if (code == punct("<%")) return punct("{");
  if (code == punct("%>")) return punct("}");
  if (code == punct("<:")) return punct("[");
  if (code == punct(":>")) return punct("]");
  if (code == punct("%:")) return punct("#");
  if (code == punct("%:%:")) return punct("##");
  return code;
}

class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) { out_.text = text; }

  token_list run() {
    out_.all.reserve(text_.size() / 4 + 8);
    if (text_.starts_with("\xef\xbb\xbf")) {
      at_ = 3;
      add(out_.all, 0, token_kind::space);
    }
    bool line_start = true;
    while (at_ < text_.size()) {
      if (line_start && begins_directive()) {
        directive();
        line_start = false;
        continue;
      }
      const token& t = next(out_.all, false);
      if (t.kind == token_kind::space) {
        line_start = line_start || saw_newline_;
      } else if (t.kind != token_kind::comment) {
        line_start = false;
      }
    }
    return std::move(out_);
  }

 private:
  /// The offset behind any line splices at `p`.
  [[nodiscard]] std::size_t skip(std::size_t p) const noexcept {
    while (p < text_.size() && text_[p] == '\\') {
      std::size_t q = p + 1;
      while (q < text_.size() && is_blank(text_[q])) ++q;
      if (q + 1 < text_.size() && text_[q] == '\r' && text_[q + 1] == '\n') ++q;
      if (q >= text_.size() || text_[q] != '\n') break;
      p = q + 1;
    }
    return p;
  }
  /// The character at or behind splices at `p`; 0 at the end.
  [[nodiscard]] char peek(std::size_t p) const noexcept {
    p = skip(p);
    return p < text_.size() ? text_[p] : '\0';
  }
  [[nodiscard]] bool at_end(std::size_t p) const noexcept { return skip(p) >= text_.size(); }
  /// The offset behind the character at `p`.
  [[nodiscard]] std::size_t after(std::size_t p) const noexcept { return skip(p) + 1; }

  token& add(std::vector<token>& to, std::size_t begin, token_kind kind) {
    token t;
    t.begin = static_cast<std::uint32_t>(begin);
    t.end = static_cast<std::uint32_t>(at_);
    t.kind = kind;
    to.push_back(t);
    return to.back();
  }
  [[nodiscard]] bool has_splice(std::size_t from, std::size_t to) const noexcept {
    return text_.substr(from, to - from).find('\\') != std::string_view::npos;
  }

  [[nodiscard]] bool begins_directive() const noexcept {
    const char c = peek(at_);
    return c == '#' || (c == '%' && peek(after(at_)) == ':');
  }

  void directive() {
    const std::size_t begin = at_;
    const std::size_t first = out_.inside.size();
    while (at_ < text_.size() && !ends_line(at_)) next(out_.inside, true);
    token& t = add(out_.all, begin, token_kind::directive);
    t.first = static_cast<std::uint32_t>(first);
    t.count = static_cast<std::uint32_t>(out_.inside.size() - first);
  }
  [[nodiscard]] bool ends_line(std::size_t p) const noexcept {
    return text_[p] == '\n' || (text_[p] == '\r' && p + 1 < text_.size() && text_[p + 1] == '\n');
  }

  /// Reads one token. In a directive, spaces end before the line end.
  const token& next(std::vector<token>& to, bool in_directive) {
    const std::size_t begin = at_;
    const std::size_t start = skip(at_);
    if (start >= text_.size()) {
      at_ = text_.size();
      saw_newline_ = false;
      return add(to, begin, token_kind::space);
    }
    const char c = text_[start];
    // A splice in front of a space belongs to the space; in front of a token, to that token.
    if (is_space(c)) return space(to, in_directive);
    if (c == '/') {
      const char d = peek(start + 1);
      if (d == '/') return line_comment(to, begin);
      if (d == '*') return block_comment(to, begin);
    }
    if (is_identifier_start(c)) return identifier(to, begin);
    if (is_digit(c) || (c == '.' && is_digit(peek(start + 1)))) return number(to, begin);
    if (c == '"' || c == '\'') {
      at_ = start;
      return literal(to, begin);
    }
    return punctuator(to, begin);
  }

  const token& space(std::vector<token>& to, bool in_directive) {
    const std::size_t begin = at_;
    saw_newline_ = false;
    while (at_ < text_.size()) {
      const std::size_t p = skip(at_);
      if (p >= text_.size()) {
        at_ = p;
        break;
      }
      if (!is_space(text_[p])) break;
      if (in_directive && ends_line(p)) {
        at_ = p;
        break;
      }
      if (text_[p] == '\n') saw_newline_ = true;
      at_ = p + 1;
    }
    return add(to, begin, token_kind::space);
  }

  const token& line_comment(std::vector<token>& to, std::size_t begin) {
    while (at_ < text_.size()) {
      at_ = skip(at_);
      if (at_ >= text_.size() || ends_line(at_)) break;
      ++at_;
    }
    return add(to, begin, token_kind::comment);
  }
  const token& block_comment(std::vector<token>& to, std::size_t begin) {
    at_ = after(after(at_));
    while (at_ < text_.size()) {
      const std::size_t p = skip(at_);
      if (p >= text_.size()) break;
      at_ = p + 1;
      if (text_[p] == '*' && peek(at_) == '/') {
        at_ = after(at_);
        return add(to, begin, token_kind::comment);
      }
    }
    at_ = text_.size();
    token& t = add(to, begin, token_kind::comment);
    t.open = true;
    return t;
  }

  const token& identifier(std::vector<token>& to, std::size_t begin) {
    while (!at_end(at_) && is_identifier_part(peek(at_))) at_ = after(at_);
    const char quote = peek(at_);
    if (quote == '"' || quote == '\'') {
      const std::string prefix = plain_text(begin, at_);
      if (prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R") {
        if (quote == '"' && raw_string()) return add(to, begin, token_kind::text);
      } else if (prefix == "L" || prefix == "u" || prefix == "U" || prefix == "u8") {
        return literal(to, begin);
      }
    }
    const bool spliced = has_splice(begin, at_);
    token& t = add(to, begin, token_kind::identifier);
    t.spliced = spliced;
    t.name = spliced ? word_of(plain_text(begin, at_)) : word_of(text_.substr(begin, at_ - begin));
    return t;
  }
  [[nodiscard]] std::string plain_text(std::size_t from, std::size_t to) const {
    std::string s;
    for (std::size_t p = skip(from); p < to; p = skip(p + 1)) s += text_[p];
    return s;
  }

  /// At the quote of R"...": takes the literal if it is well formed.
  bool raw_string() {
    std::size_t p = skip(at_) + 1;
    const std::size_t delimiter = p;
    while (p < text_.size() && p - delimiter <= 16 && text_[p] != '(' && text_[p] != ')' &&
           text_[p] != '\\' && text_[p] != '"' && !is_space(text_[p]))
      ++p;
    if (p >= text_.size() || text_[p] != '(' || p - delimiter > 16) return false;
    std::string end = ")";
    end += text_.substr(delimiter, p - delimiter);
    end += '"';
    const std::size_t close = text_.find(end, p + 1);
    if (close == std::string_view::npos) {
      at_ = text_.size();  // the literal does not end: compilers report it, too
      return true;
    }
    at_ = close + end.size();
    suffix();
    return true;
  }
  void suffix() {
    if (at_ < text_.size() && is_identifier_start(text_[at_]))
      while (!at_end(at_) && is_identifier_part(peek(at_))) at_ = after(at_);
  }

  /// Reads a literal at its quote, or at splices before. If it is not closed, it ends with its
  /// line.
  const token& literal(std::vector<token>& to, std::size_t begin) {
    at_ = skip(at_);
    const char quote = text_[at_++];
    while (at_ < text_.size()) {
      at_ = skip(at_);
      if (at_ >= text_.size() || ends_line(at_)) break;
      const char c = text_[at_++];
      if (c == quote) {
        suffix();
        break;
      }
      if (c == '\\') {
        at_ = skip(at_);
        if (at_ < text_.size() && !ends_line(at_)) ++at_;
      }
    }
    return add(to, begin, quote == '"' ? token_kind::text : token_kind::character);
  }

  const token& number(std::vector<token>& to, std::size_t begin) {
    char before = '\0';
    while (!at_end(at_)) {
      const char c = peek(at_);
      if ((c == '+' || c == '-') &&
          (before == 'e' || before == 'E' || before == 'p' || before == 'P')) {
      } else if (c == '\'') {
        if (!is_identifier_part(peek(after(at_)))) break;
      } else if (!is_identifier_part(c) && c != '.') {
        break;
      }
      before = c;
      at_ = after(at_);
    }
    return add(to, begin, token_kind::number);
  }

  const token& punctuator(std::vector<token>& to, std::size_t begin) {
    char next[4] = {};
    std::size_t ends[4] = {};
    std::size_t p = at_;
    for (int i = 0; i < 4 && !at_end(p); ++i) {
      next[i] = peek(p);
      p = after(p);
      ends[i] = p;
    }
    for (const char* known : punctuators) {
      int n = 0;
      while (known[n] != '\0' && known[n] == next[n]) ++n;
      if (known[n] != '\0') continue;
      // `<::` is `<` and `::`, unless `:` or `>` follows.
      if (n == 2 && next[0] == '<' && next[1] == ':' && next[2] == ':' && next[3] != ':' &&
          next[3] != '>')
        continue;
      at_ = ends[n - 1];
      token& t = add(to, begin, token_kind::punctuator);
      t.code = without_digraph(punct(known));
      return t;
    }
    at_ = ends[0];
    const char c = next[0];
    const bool known =
        std::string_view("{}[]()<>;:,.?+-*/%^&|~!=#").find(c) != std::string_view::npos;
    token& t = add(to, begin, known ? token_kind::punctuator : token_kind::other);
    t.code = static_cast<unsigned char>(c);
    return t;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool saw_newline_ = false;
  token_list out_;
};

}  // namespace

std::string token_list::spelling(const token& t) const {
  const std::string_view s = text_of(t);
  if (!t.spliced) return std::string(s);
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\') {
      std::size_t q = i + 1;
      while (q < s.size() && is_space(s[q]) && s[q] != '\n') ++q;
      if (q < s.size() && s[q] == '\n') {
        i = q;
        continue;
      }
    }
    out += s[i];
  }
  return out;
}

token_list tokenize(std::string_view text) { return lexer(text).run(); }

}  // namespace heddle::tame
