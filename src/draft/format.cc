// SPDX-License-Identifier: MIT
// The formatter works on tokens: it decides the space between each two, and the indentation of each
// line by the brackets that are open.
#include "draft/format.hh"

#include "draft/lexer.hh"

namespace heddle::draft {
namespace {

constexpr std::size_t indent_columns = 4;

/// How the previous token counts for the space behind it.
enum class role : std::uint8_t {
  plain,
  unary,          ///< `-`, `!` or `~` in front of a value
  opens_generic,  ///< the `<` of buffer<4K>
  ends_type,      ///< the `>` of buffer<4K>, or the `!` of a result that may be an error
};

class formatter {
 public:
  formatter(const source::source_file& file, lexed in)
      : file_(file), text_(file.text()), in_(std::move(in)) {}

  std::string run() {
    std::size_t comment = 0;
    for (std::size_t i = 0; i != in_.tokens.size(); ++i) {
      const token& t = in_.tokens[i];
      while (comment != in_.comments.size() && in_.comments[comment].begin < t.begin)
        add_comment(in_.comments[comment++]);
      if (t.kind == token_kind::end) break;
      if (t.kind == token_kind::newline) continue;
      add_token(i);
    }
    while (comment != in_.comments.size()) add_comment(in_.comments[comment++]);
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::uint32_t line_of(std::uint32_t at) const { return file_.line_of(at); }

  /// Begins a new line of the output where the text has one, with at most one blank line before.
  /// `closing`: a bracket that closes begins it.
  bool break_line(std::uint32_t line, std::size_t depth, bool closing) {
    if (line == last_line_ && !out_.empty()) return false;
    if (!out_.empty()) {
      out_ += '\n';
      const bool after_open = previous_ != nullptr && previous_->is(word::s_lbrace);
      if (line > last_line_ + 1 && !after_open && !closing) out_ += '\n';
    }
    last_line_ = line;
    out_.append(indent_columns * depth, ' ');
    return true;
  }

  void add_comment(const comment& c) {
    if (!break_line(line_of(c.begin), depth_, false)) out_ += "  ";
    out_ += text_.substr(c.begin, c.end - c.begin);
    previous_ = nullptr;
  }

  void add_token(std::size_t i) {
    const token& t = in_.tokens[i];
    const bool opens = t.is(word::s_lbrace) || t.is(word::s_lparen) || t.is(word::s_lbracket);
    const bool closes = t.is(word::s_rbrace) || t.is(word::s_rparen) || t.is(word::s_rbracket);
    if (closes && !open_.empty()) close_bracket();
    const bool fresh = break_line(line_of(t.begin), depth_, closes);
    if (!fresh && previous_ != nullptr && (spaced(*previous_, t) || merge(*previous_, t)))
      out_ += ' ';
    out_ += text_.substr(t.begin, t.end - t.begin);
    if (opens) open_bracket(t);
    role_ = role_of(t, i, fresh);
    previous_ = &t;
  }

  /// A line is indented once for each open bracket. The `{` of an action takes the place of those
  /// that were opened on its line: `f(fn() {` indents once, and `})` ends it.
  void open_bracket(const token& t) {
    const std::uint32_t line = line_of(t.begin);
    if (t.is(word::s_lbrace)) {
      for (std::size_t i = open_.size(); i-- != 0;) {
        bracket& b = open_[i];
        if (b.is_brace || b.line != line || !b.indents) break;
        b.indents = false;
        --depth_;
      }
    }
    open_.push_back({line, t.is(word::s_lbrace), true});
    ++depth_;
  }
  void close_bracket() {
    if (open_.back().indents) --depth_;
    open_.pop_back();
  }

  [[nodiscard]] std::string_view text_of(const token& t) const {
    return text_.substr(t.begin, t.end - t.begin);
  }

  static bool ends_value(const token& t) {
    switch (t.kind) {
      case token_kind::name:
      case token_kind::integer:
      case token_kind::duration:
      case token_kind::text:
      case token_kind::character:
        return true;
      case token_kind::keyword:
        return t.is(word::k_true) || t.is(word::k_false) || t.is(word::k_none);
      default:
        return t.is(word::s_rparen) || t.is(word::s_rbracket) || t.is(word::s_rbrace);
    }
  }

  role role_of(const token& t, std::size_t i, bool fresh) {
    if (t.is(word::s_lt) && i != 0 && in_.tokens[i - 1].kind == token_kind::name &&
        (is_generic(text_of(in_.tokens[i - 1])) || text_of(in_.tokens[i - 1]) == "subscription")) {
      ++generics_;
      return role::opens_generic;
    }
    if (generics_ != 0 && (t.is(word::s_gt) || t.is(word::s_shr))) {
      generics_ -= t.is(word::s_shr) && generics_ > 1 ? 2 : 1;
      return role::ends_type;
    }
    const bool after_value =
        !fresh && previous_ != nullptr && (ends_value(*previous_) || role_ == role::ends_type);
    if ((t.is(word::s_sub) || t.is(word::s_not) || t.is(word::s_tilde)) && !after_value)
      return role::unary;
    return t.is(word::s_not) ? role::ends_type : role::plain;
  }

  /// Side by side, the two would be read as other tokens: `-` and `=`, `>` and `>`.
  bool merge(const token& a, const token& b) const {
    const source::source_file pair(file_.path(), std::string(text_of(a)) + std::string(text_of(b)));
    source::diagnostics unused;
    const lexed both = lex(pair, unused);
    return both.tokens.front().end - both.tokens.front().begin != a.end - a.begin ||
           both.tokens.size() < 2;
  }

  bool spaced(const token& a, const token& b) const {
    if (b.is(word::s_rparen) || b.is(word::s_rbracket) || b.is(word::s_comma) ||
        b.is(word::s_colon) || b.is(word::s_dot) || b.is(word::s_dots))
      return false;
    if (a.is(word::s_lparen) || a.is(word::s_lbracket) || a.is(word::s_dot) || a.is(word::s_dots) ||
        a.is(word::s_question))
      return false;
    if (role_ == role::opens_generic) return false;
    if (b.is(word::s_lt) && a.kind == token_kind::name &&
        (is_generic(text_of(a)) || text_of(a) == "subscription"))
      return false;
    if (generics_ != 0 && (b.is(word::s_gt) || b.is(word::s_shr))) return false;
    if (role_ == role::unary) return b.is(word::s_lbrace);
    // The `!` of a result that may be an error.
    if (b.is(word::s_not) &&
        (a.kind == token_kind::name || a.is(word::s_rbracket) || role_ == role::ends_type))
      return false;
    if (b.is(word::s_lparen))
      return !(ends_value(a) || role_ == role::ends_type || a.is(word::k_main) ||
               a.is(word::k_fn)) ||
             a.is(word::s_rbrace);
    if (b.is(word::s_lbracket)) return !(ends_value(a) && !a.is(word::s_rbrace));
    if (a.is(word::s_rbracket) && b.kind == token_kind::name) return false;  // [4]int
    if (a.is(word::s_lbrace) && b.is(word::s_rbrace)) return false;
    return true;
  }

  const source::source_file& file_;
  std::string_view text_;
  lexed in_;
  std::string out_;
  struct bracket {
    std::uint32_t line;
    bool is_brace;
    bool indents;
  };
  std::vector<bracket> open_;
  std::size_t depth_ = 0;  // brackets of open_ that indent
  std::size_t generics_ = 0;
  std::uint32_t last_line_ = 1;
  const token* previous_ = nullptr;
  role role_ = role::plain;  // the role of the previous token
};

}  // namespace

std::string format(const source::source_file& file) {
  source::diagnostics report;
  lexed in = lex(file, report);
  if (report.has_errors()) return std::string(file.text());
  return formatter(file, std::move(in)).run();
}

}  // namespace heddle::draft
