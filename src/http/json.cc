// SPDX-License-Identifier: MIT
// The reader: one function for each rule of the grammar.
#include "heddle/http/detail/json.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "heddle/base/error.hh"

namespace heddle::http::detail {
namespace {

constexpr unsigned high_surrogate = 0xd800;
constexpr unsigned low_surrogate = 0xdc00;
constexpr unsigned surrogates_end = 0xe000;
constexpr unsigned code_points_end = 0x110000;

bool json_digit(char c) noexcept { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, unsigned code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

class json_reader {
 public:
  json_reader(std::string_view text, const json_limits& bounds) : text_(text), bounds_(bounds) {}

  json whole() {
    json made = value(0);
    skip_blanks();
    if (at_ != text_.size()) fail("there is more text after the value");
    return made;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw failure(std::make_error_code(std::errc::bad_message),
                  "this is no JSON: at byte " + std::to_string(at_) + ", " + what);
  }

  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(std::string_view word) noexcept {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  json value(std::size_t depth) {
    if (++values_ > bounds_.values_max) fail("there are too many values");
    skip_blanks();
    json made;
    switch (peek()) {
      case '{':
        members(made, depth + 1);
        break;
      case '[':
        elements(made, depth + 1);
        break;
      case '"':
        made.kind_ = json::kind::text;
        made.text_ = text();
        break;
      case 't':
      case 'f':
        made.kind_ = json::kind::boolean;
        made.number_ = peek() == 't' ? 1 : 0;
        if (!take("true") && !take("false")) fail("a word is neither true, false nor null");
        break;
      case 'n':
        if (!take("null")) fail("a word is neither true, false nor null");
        break;
      default:
        made.kind_ = json::kind::number;
        number(made);
    }
    return made;
  }

  void members(json& into, std::size_t depth) {
    into.kind_ = json::kind::object;
    if (depth > bounds_.depth_max) fail("values are nested too deeply");
    ++at_;
    skip_blanks();
    if (take("}")) return;
    for (;;) {
      skip_blanks();
      if (peek() != '"') fail("a name in quotes is missing");
      std::string name = text();
      if (std::ranges::find(into.names_, name) != into.names_.end()) fail("a name repeats");
      skip_blanks();
      if (!take(":")) fail("a colon is missing");
      into.items_.push_back(value(depth));
      into.names_.push_back(std::move(name));
      skip_blanks();
      if (take("}")) return;
      if (!take(",")) fail("a comma or a closing brace is missing");
    }
  }

  void elements(json& into, std::size_t depth) {
    into.kind_ = json::kind::list;
    if (depth > bounds_.depth_max) fail("values are nested too deeply");
    ++at_;
    skip_blanks();
    if (take("]")) return;
    for (;;) {
      into.items_.push_back(value(depth));
      skip_blanks();
      if (take("]")) return;
      if (!take(",")) fail("a comma or a closing bracket is missing");
    }
  }

  void number(json& into) {
    const std::size_t from = at_;
    if (peek() == '-') ++at_;
    if (!json_digit(peek())) fail("a value is missing");
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    into.text_ = text_.substr(from, at_ - from);
    into.number_ = std::strtod(into.text_.c_str(), nullptr);
  }
  void digits() {
    if (!json_digit(peek())) fail("a digit is missing");
    while (json_digit(peek())) ++at_;
  }

  std::string text() {
    std::string out;
    ++at_;
    for (;;) {
      if (at_ == text_.size()) fail("a text does not end");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return out;
      }
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character is not escaped");
      if (c == '\\') {
        escape(out);
      } else {
        character(out);
      }
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    ++at_;
    if (take("u")) {
      unsigned code = four_digits();
      if (code >= low_surrogate && code < surrogates_end) fail("half a surrogate pair");
      if (code >= high_surrogate && code < low_surrogate) {
        if (!take("\\u")) fail("half a surrogate pair");
        const unsigned low = four_digits();
        if (low < low_surrogate || low >= surrogates_end) fail("half a surrogate pair");
        code = 0x10000 + ((code - high_surrogate) << 10) + (low - low_surrogate);
      }
      append_utf8(out, code);
      return;
    }
    const std::size_t which = at_ < text_.size() ? letters.find(text_[at_]) : letters.npos;
    if (which == letters.npos) fail("an escape is unknown");
    out += meant[which];
    ++at_;
  }

  unsigned four_digits() {
    unsigned code = 0;
    for (int i = 0; i != 4; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (!json_digit(c) && (lower < 'a' || lower > 'f')) fail("a hexadecimal digit is missing");
      code = code << 4 | static_cast<unsigned>(json_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return code;
  }

  /// Reads one character of UTF-8 (RFC 3629), in its shortest form.
  void character(std::string& out) {
    const auto first = static_cast<unsigned char>(text_[at_]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text_.size() - at_ < size)
      fail("the text is not UTF-8");
    unsigned code = size == 1 ? first : first & (0x7fu >> size);
    for (std::size_t i = 1; i != size; ++i) {
      const auto next = static_cast<unsigned char>(text_[at_ + i]);
      if ((next & 0xc0) != 0x80) fail("the text is not UTF-8");
      code = code << 6 | (next & 0x3f);
    }
    if ((size == 3 && code < 0x800) || (size == 4 && (code < 0x10000 || code >= code_points_end)) ||
        (code >= high_surrogate && code < surrogates_end))
      fail("the text is not UTF-8");
    out += text_.substr(at_, size);
    at_ += size;
  }

  std::string_view text_;
  const json_limits& bounds_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
};

json json::parse(std::string_view text, const json_limits& bounds) {
  return json_reader(text, bounds).whole();
}

const json& json::operator[](std::string_view name) const noexcept {
  static const json none;
  const auto at = std::ranges::find(names_, name);
  return at == names_.end() ? none : items_[static_cast<std::size_t>(at - names_.begin())];
}

}  // namespace heddle::http::detail
