// SPDX-License-Identifier: MIT
// Cuts a file into tokens.
#include "rpcgen/lexer.hh"

namespace heddle::rpcgen {
namespace {

bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void lexer::skip_line() {
  const std::size_t end = file_.text().find('\n', at_);
  at_ = end == std::string_view::npos ? file_.size() : static_cast<std::uint32_t>(end);
}

void lexer::skip_blanks() {
  const std::string_view all = file_.text();
  while (at_ < all.size()) {
    const char c = all[at_];
    const bool begins_line = at_ == 0 || all[at_ - 1] == '\n';
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
      ++at_;
    } else if (all.substr(at_, 2) == "//") {
      skip_line();
    } else if (all.substr(at_, 2) == "/*") {
      const std::size_t end = all.find("*/", at_ + 2);
      if (end == std::string_view::npos) {
        found_.error("", {&file_, at_, at_ + 2}, "this comment has no end").hint = "write `*/`";
        at_ = file_.size();
      } else {
        at_ = static_cast<std::uint32_t>(end) + 2;
      }
    } else if (c == '#' && begins_line) {
      std::size_t word = at_ + 1;
      while (word < all.size() && (all[word] == ' ' || all[word] == '\t')) ++word;
      const bool mark =
          word < all.size() && (is_digit(all[word]) || all.substr(word, 5) == "line ");
      if (!mark)
        found_.error("", {&file_, at_, at_ + 1}, "there is no preprocessor").hint =
            "a line for the C++ output begins with %; for #define write `const NAME = VALUE;`";
      skip_line();
    } else {
      return;
    }
  }
}

token lexer::make(token_kind kind, std::uint32_t from) const {
  return {kind, {&file_, from, at_}, file_.text().substr(from, at_ - from)};
}

token lexer::next() {
  skip_blanks();
  const std::string_view all = file_.text();
  const std::uint32_t from = at_;
  if (at_ >= all.size()) return make(token_kind::end, from);
  const char c = all[at_];
  if (c == '%' && (from == 0 || all[from - 1] == '\n')) {
    skip_line();
    token line = make(token_kind::verbatim, from);
    line.text.remove_prefix(1);
    return line;
  }
  const bool minus = c == '-' && at_ + 1 < all.size() && is_digit(all[at_ + 1]);
  if (begins_word(c) || is_digit(c) || minus) {
    ++at_;
    while (at_ < all.size() && (begins_word(all[at_]) || is_digit(all[at_]))) ++at_;
    return make(begins_word(c) ? token_kind::word : token_kind::number, from);
  }
  at_ += static_cast<std::uint32_t>(source::utf8_len(all, at_));
  return make(token_kind::mark, from);
}

}  // namespace heddle::rpcgen
