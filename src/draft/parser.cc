// SPDX-License-Identifier: MIT
// Reading tokens, and going on after an error.
#include "draft/parser.hh"

#include <utility>

#include "draft/parsing.hh"

namespace heddle::draft {

file_tree parser::run() {
  file_tree tree;
  tree.file = &file_;
  skip_lines();
  while (!at_end()) {
    const std::size_t before = at_;
    try {
      parse_item(tree);
      end_of_line("after this declaration");
    } catch (recovery) {
      resynchronize();
      if (at_ == before) ++at_;
      if (now().is(word::s_rbrace)) ++at_;
    }
    nesting_ = 0;
    skip_lines();
  }
  return tree;
}

const token& parser::take() noexcept {
  const token& t = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return t;
}

bool parser::accept(word w) noexcept {
  if (!is(w)) return false;
  take();
  return true;
}

void parser::skip_lines() noexcept {
  while (now().kind == token_kind::newline) take();
}

std::string parser::shown(const token& t) const {
  if (t.kind == token_kind::newline) return "the end of the line";
  if (t.kind == token_kind::end) return "the end of the file";
  return "'" + std::string(text_of(t)) + "'";
}

void parser::fail(const std::string& message, const std::string& hint) {
  // A token that the lexer has reported needs no second report.
  if (now().kind != token_kind::bad) {
    span at = span_of(now());
    if (now().kind == token_kind::newline || now().kind == token_kind::end) at.end = at.begin;
    auto& d = report_.error("D0002", at, message);
    d.hint = hint;
  }
  throw recovery{};
}

void parser::expect(word w, const char* where) {
  if (accept(w)) return;
  fail("expected '" + std::string(spelling(w)) + "' " + where + ", found " + shown(now()));
}

std::string_view parser::expect_name(const char* what) {
  if (is_name()) return text_of(take());
  std::string hint;
  if (now().kind == token_kind::keyword)
    hint = "'" + std::string(text_of(now())) + "' is a word of the language";
  fail("expected " + std::string(what) + ", found " + shown(now()), hint);
}

void parser::end_of_line(const char* where) {
  if (now().kind == token_kind::newline || at_end()) return;
  if (is(word::s_rbrace)) return;
  fail("expected the end of the line " + std::string(where) + ", found " + shown(now()),
       "a statement ends with its line");
}

void parser::resynchronize() noexcept {
  std::size_t open = 0;
  while (!at_end()) {
    if (is(word::s_lbrace)) {
      ++open;
    } else if (is(word::s_rbrace)) {
      if (open == 0) return;
      --open;
    } else if (now().kind == token_kind::newline && open == 0) {
      return;
    }
    take();
  }
}

void parser::close_angle() {
  if (accept(word::s_gt)) return;
  if (is(word::s_shr) && half_ != at_) {
    half_ = at_;
    return;
  }
  if (is(word::s_shr)) {
    take();
    return;
  }
  fail("expected '>' after the type's arguments, found " + shown(now()));
}

void parser::report_end(span opened) {
  if (std::exchange(told_of_end_, true)) return;
  auto& d = report_.error("D0002", span_of(now()), "the file ends inside a block");
  d.notes.push_back({opened, "which begins here"});
  d.hint = "a '}' is missing";
}

file_tree parse(const source::source_file& file, const lexed& tokens, source::diagnostics& report) {
  return parser(file, tokens, report).run();
}

}  // namespace heddle::draft
