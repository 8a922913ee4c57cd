// SPDX-License-Identifier: MIT
// The lexer: one pass over the bytes.
#include "draft/lexer.hh"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace heddle::draft {
namespace {

constexpr std::string_view keyword_list[] = {
#define HEDDLE_DRAFT_TEXT(id, text) text,
    HEDDLE_DRAFT_WORDS(HEDDLE_DRAFT_TEXT)
#undef HEDDLE_DRAFT_TEXT
};
constexpr std::string_view word_list[] = {
#define HEDDLE_DRAFT_TEXT(id, text) text,
    HEDDLE_DRAFT_WORDS(HEDDLE_DRAFT_TEXT) HEDDLE_DRAFT_SYMBOLS(HEDDLE_DRAFT_TEXT)
#undef HEDDLE_DRAFT_TEXT
};
constexpr std::string_view context_list[] = {"after", "apart",  "blocking", "color",
                                             "drop",  "merged", "pure",     "type"};
constexpr std::string_view generic_list[] = {"channel", "broadcast", "rendezvous",
                                             "event",   "text",      "job"};
constexpr std::string_view type_list[] = {
    "channel", "broadcast", "rendezvous", "event",  "text",  "job",         "bool", "byte",
    "int",     "i8",        "i16",        "i32",    "i64",   "u8",          "u16",  "u32",
    "u64",     "duration",  "error",      "view",   "bytes", "buffer",      "conn", "listener",
    "file",    "timer",     "semaphore",  "permit", "void",  "subscription"};

const std::unordered_map<std::string_view, word>& keyword_map() {
  static const std::unordered_map<std::string_view, word> map = [] {
    std::unordered_map<std::string_view, word> m;
    for (std::size_t i = 0; i != std::size(keyword_list); ++i)
      m.emplace(keyword_list[i], static_cast<word>(i + 1));
    return m;
  }();
  return map;
}

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

int digit_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

class lexer {
 public:
  lexer(const source::source_file& file, source::diagnostics& report)
      : file_(file), text_(file.text()), report_(report) {}

  lexed run() {
    out_.tokens.reserve(text_.size() / 4 + 2);
    while (at_ < text_.size()) next();
    push(token_kind::newline, at_, at_);
    push(token_kind::end, at_, at_);
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void push(token_kind kind, std::size_t begin, std::size_t end, std::uint64_t value = 0,
            word what = word::none) {
    if (kind == token_kind::newline &&
        (out_.tokens.empty() || out_.tokens.back().kind == token_kind::newline))
      return;
    out_.tokens.push_back(
        {kind, what, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), value});
  }

  source::diagnostic& error(std::size_t begin, std::size_t end, std::string message) {
    return report_.error(
        "D0001", {&file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)},
        std::move(message));
  }

  void next() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '\n') {
      if (brackets_.empty() || brackets_.back() == '{') push(token_kind::newline, at_, at_ + 1);
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      const std::size_t begin = at_;
      at_ = std::min(text_.find('\n', at_), text_.size());
      std::size_t end = at_;
      while (end > begin && (text_[end - 1] == '\r' || text_[end - 1] == ' ')) --end;
      out_.comments.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    } else if (is_letter(c)) {
      lex_name();
    } else if (is_digit(c)) {
      lex_number();
    } else if (c == '"') {
      lex_text();
    } else if (c == '\'') {
      lex_character();
    } else if (c == ';') {
      // A habit from C. The statement ends here, as it does in C.
      error(at_, at_ + 1, "a statement ends with its line").hint = "delete the semicolon";
      push(token_kind::newline, at_, at_ + 1);
      ++at_;
    } else {
      lex_symbol();
    }
  }

  void lex_name() {
    const std::size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    const auto found = keyword_map().find(text_.substr(begin, at_ - begin));
    if (found == keyword_map().end()) return push(token_kind::name, begin, at_);
    push(token_kind::keyword, begin, at_, 0, found->second);
  }

  void lex_number() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    bool too_large = false;
    unsigned base = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'b')) {
      base = peek(1) == 'x' ? 16 : 2;
      at_ += 2;
      if (digit_value(peek()) >= static_cast<int>(base)) {
        skip_word();
        error(begin, at_, "a number needs digits after its prefix");
        return push(token_kind::bad, begin, at_);
      }
    }
    for (;; ++at_) {
      if (peek() == '_' && digit_value(peek(1)) < static_cast<int>(base)) continue;
      const int digit = digit_value(peek());
      if (digit >= static_cast<int>(base)) break;
      too_large |= __builtin_mul_overflow(value, std::uint64_t{base}, &value);
      too_large |= __builtin_add_overflow(value, static_cast<std::uint64_t>(digit), &value);
    }
    const std::size_t suffix_at = at_;
    skip_word();
    const std::string_view suffix = text_.substr(suffix_at, at_ - suffix_at);
    struct unit {
      std::string_view name;
      std::uint64_t factor;
      bool time;
    };
    static constexpr unit units[] = {{"", 1, false},
                                     {"K", 1ULL << 10, false},
                                     {"M", 1ULL << 20, false},
                                     {"G", 1ULL << 30, false},
                                     {"ns", 1, true},
                                     {"us", 1000, true},
                                     {"ms", 1000000, true},
                                     {"s", 1000000000, true},
                                     {"m", 60ULL * 1000000000, true},
                                     {"h", 3600ULL * 1000000000, true}};
    for (const unit& u : units) {
      if (u.name != suffix) continue;
      too_large |= __builtin_mul_overflow(value, u.factor, &value);
      if (u.time && value > static_cast<std::uint64_t>(INT64_MAX)) too_large = true;
      if (too_large) {
        error(begin, at_, "this number is too large");
        return push(token_kind::bad, begin, at_);
      }
      return push(u.time ? token_kind::duration : token_kind::integer, begin, at_, value);
    }
    error(suffix_at, at_, "'" + std::string(suffix) + "' is no unit of a number").hint =
        "sizes are K M G, durations ns us ms s m h";
    push(token_kind::bad, begin, at_);
  }

  void skip_word() {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
  }

  /// The escape at at_, which is a backslash. False when it is none; then it is reported.
  bool skip_escape() {
    const char c = peek(1);
    if (c == 'x') {
      if (digit_value(peek(2)) < 16 && digit_value(peek(3)) < 16) {
        at_ += 4;
        return true;
      }
    } else if (c != '\0' && std::string_view("nrt0\\\"'").find(c) != std::string_view::npos) {
      at_ += 2;
      return true;
    }
    error(at_, std::min(at_ + 2, text_.size()), "there is no such escape").hint =
        "escapes are \\n \\r \\t \\0 \\\\ \\\" \\' and \\xNN";
    ++at_;
    if (at_ < text_.size() && text_[at_] != '\n') ++at_;
    return false;
  }

  void lex_text() {
    const std::size_t begin = at_++;
    bool good = true;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      if (text_[at_] == '\\') {
        good = skip_escape() && good;
      } else {
        ++at_;
      }
    }
    if (peek() != '"') {
      error(begin, at_, "this text has no end").hint = "close it with \" on the same line";
      return push(token_kind::bad, begin, at_);
    }
    ++at_;
    push(good ? token_kind::text : token_kind::bad, begin, at_);
  }

  void lex_character() {
    const std::size_t begin = at_++;
    bool good = true;
    if (peek() == '\\') {
      good = skip_escape();
    } else if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\'') {
      ++at_;
    } else {
      good = false;
    }
    if (peek() == '\'') {
      ++at_;
      if (!good) {
        if (at_ == begin + 2) error(begin, at_, "a character is missing between the quotes");
        return push(token_kind::bad, begin, at_);
      }
      const std::string bytes = decode_text(text_.substr(begin, at_ - begin));
      return push(token_kind::character, begin, at_, static_cast<unsigned char>(bytes.at(0)));
    }
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\'') ++at_;
    if (peek() == '\'') ++at_;
    error(begin, at_, "a character is one byte between single quotes").hint =
        "longer texts have double quotes";
    push(token_kind::bad, begin, at_);
  }

  void lex_symbol() {
    const std::size_t first = std::size(keyword_list);
    std::size_t best = 0;
    for (std::size_t i = first; i != std::size(word_list); ++i) {
      const std::string_view s = word_list[i];
      if (text_.substr(at_, s.size()) == s && (best == 0 || s.size() > word_list[best].size()))
        best = i;
    }
    if (best == 0) {
      const std::size_t begin = at_;
      at_ += source::utf8_len(text_, at_);
      // One report for a run of them.
      while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) >= 0x80) ++at_;
      error(begin, at_, "this character has no meaning here");
      return push(token_kind::bad, begin, at_);
    }
    const std::size_t begin = at_;
    at_ += word_list[best].size();
    const char c = word_list[best][0];
    if (word_list[best].size() == 1) {
      if (c == '(' || c == '[' || c == '{') brackets_ += c;
      if ((c == ')' || c == ']' || c == '}') && !brackets_.empty()) close_bracket(c);
    }
    push(token_kind::symbol, begin, at_, 0, static_cast<word>(best + 1));
  }

  /// A brace closes what was left open inside it, so that one missing ) costs one statement only.
  void close_bracket(char c) {
    const char opened = c == ')' ? '(' : c == ']' ? '[' : '{';
    const std::size_t at = brackets_.rfind(opened);
    if (at == std::string::npos) return;
    if (c != '}' && brackets_.find('{', at) != std::string::npos) return;
    brackets_.resize(at);
  }

  const source::source_file& file_;
  std::string_view text_;
  source::diagnostics& report_;
  lexed out_;
  std::size_t at_ = 0;
  std::string brackets_;  // open brackets, outer ones first
};

}  // namespace

std::string_view spelling(word w) noexcept {
  return w == word::none ? std::string_view() : word_list[static_cast<std::size_t>(w) - 1];
}
std::span<const std::string_view> keywords() noexcept { return keyword_list; }
std::span<const std::string_view> context_words() noexcept { return context_list; }
std::span<const std::string_view> type_words() noexcept { return type_list; }
bool is_generic(std::string_view name) noexcept {
  return std::find(std::begin(generic_list), std::end(generic_list), name) !=
         std::end(generic_list);
}

lexed lex(const source::source_file& file, source::diagnostics& report) {
  return lexer(file, report).run();
}

std::string decode_text(std::string_view literal) {
  std::string out;
  if (literal.size() < 2) return out;
  literal = literal.substr(1, literal.size() - 2);
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i];
      continue;
    }
    switch (literal[++i]) {
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case '0':
        out += '\0';
        break;
      case 'x':
        if (i + 2 < literal.size()) {
          out += static_cast<char>(digit_value(literal[i + 1]) * 16 + digit_value(literal[i + 2]));
          i += 2;
        }
        break;
      default:
        out += literal[i];
    }
  }
  return out;
}

std::string print_tokens(const source::source_file& file, const lexed& in) {
  static constexpr const char* names[] = {"end",  "newline",   "name",    "integer", "duration",
                                          "text", "character", "keyword", "symbol",  "bad"};
  std::string out;
  for (const token& t : in.tokens) {
    const source::position p = file.position_of(t.begin);
    out += std::to_string(p.line) + ":" + std::to_string(p.column) + " " +
           names[static_cast<std::size_t>(t.kind)];
    if (t.kind != token_kind::newline && t.kind != token_kind::end) {
      out += ' ';
      out += file.text().substr(t.begin, t.end - t.begin);
    }
    if (t.kind == token_kind::integer || t.kind == token_kind::duration)
      out += " = " + std::to_string(t.value);
    out += '\n';
  }
  return out;
}

}  // namespace heddle::draft
