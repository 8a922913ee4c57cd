// SPDX-License-Identifier: MIT
// Functions that return before they end: parameters, which are passed on, and DEFAULT_RETURN of the
// original dialect.
#include <algorithm>

#include "tame/parser.hh"

namespace heddle::tame {

void parser::report_result(const function& f) {
  if (f.other_result.empty() || !f.default_return.empty()) return;
  out_.error("T0106", place(f.other_result),
             "a tamed function returns nothing: its caller goes on while it waits")
      .hint = "return void, and give it an event for the result: void f(..., event<int> done)";
}

/// Reads the parameters, from their parenthesis to the one that closes it.
void parser::read_parameters(function& f) {
  if (f.name.empty() || f.parens == 0) return;
  parameter p{};
  std::size_t words = 0;
  bool has_default = false;
  bool has_angles = true;
  int depth = 0;
  std::size_t j = f.parens + 1;
  const auto finish = [&](const token& last) {
    if (p.whole.begin != 0) {
      if (!has_default) p.whole.end = last.end;
      if (words < 2) p.name = {};
      if (tokens_.all.empty() || text_of(file_, p.whole) != "void") f.parameters.push_back(p);
    }
    p = {};
    words = 0;
    has_default = false;
  };
  for (; j < list_.size() && at(j).begin < f.open.begin; ++j) {
    const token& t = at(j);
    if (t.kind == token_kind::directive) continue;
    if (depth == 0 && (t.is(")") || t.is(","))) {
      finish(at(j - 1));
      if (t.is(")")) return;
      continue;
    }
    if (p.whole.begin == 0) {
      p.whole.begin = t.begin;
      p.plain = true;
    }
    if (has_default) {
      if (t.is("(") || t.is("[") || t.is("{")) ++depth;
      if (t.is(")") || t.is("]") || t.is("}")) --depth;
      continue;
    }
    if (t.is("<") && has_angles) {
      const std::size_t close = skip_angles(j, list_.size());
      if (close != j) {
        j = close;
        words += 1;
        continue;
      }
      has_angles = false;  // the rest has none either: time stays linear
    }
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if (t.is(")") || t.is("]") || t.is("}")) --depth;
    if (t.is("(") || t.is("[") || t.is("...")) p.plain = false;
    if (depth != 0) continue;
    if (t.is("=")) {
      has_default = true;
      p.whole.end = at(j - 1).end;
    } else if (t.kind == token_kind::identifier) {
      if (t.is(word::closure_) && language_ == dialect::tame) {
        p = {};
        continue;
      }
      const std::string s = tokens_.spelling(t);
      if (s == "string_view" || s == "span") p.borrowed = true;
      if (t.is(word::const_) || t.is(word::volatile_) || t.is(word::struct_) ||
          t.is(word::typename_))
        continue;
      ++words;
      p.name = t.is(word::builtin_type_) ? range{} : of(t);
    } else if (t.is("&")) {
      p.borrowed = true;
      words = std::max<std::size_t>(words, 1);
    } else if (t.is("&&") || t.is("*")) {
      words = std::max<std::size_t>(words, 1);
    } else if (t.is("::")) {
      --words;
    }
  }
}

void parser::default_return_word(std::size_t i) {
  const token& t = at(i);
  const node& around = top();
  if (language_ != dialect::tame || !around.function || !is(next(i), "{")) return;
  function& f = found_.at(around.function);
  const bool qualified = text_of(file_, f.name).find("::") != std::string::npos;
  if (around.what != role::tamed_body || !f.default_return.empty()) {
    out_.error("T0112", place(t), "DEFAULT_RETURN that is not the one of its function's body")
        .hint = "write it once, at the top level of the body";
    return;
  }
  const bool odd = std::any_of(f.parameters.begin(), f.parameters.end(),
                               [](const parameter& p) { return !p.plain; });
  if (f.is_lambda() || f.member || qualified || f.is_template || f.by_macro() || odd) {
    source::diagnostic& d =
        out_.error("T0112", place(t), "DEFAULT_RETURN in a function that is not free and plain");
    if (!f.name.empty()) d.notes.push_back({place(f.name), "the function"});
    d.hint =
        "return void, and give it an event for the result; only free functions without templates, "
        "arrays and pointers to functions as parameters can return before they end";
  }
  f.default_return = of(t);
  state_.now.next = control::default_return;
}

void parser::close_default_return(std::size_t i, const node& n) {
  function& f = found_.at(n.enclosing);
  f.default_return.end = at(i).end;
  f.default_statements = {at(n.open).end, at(i).begin};
}

}  // namespace heddle::tame
