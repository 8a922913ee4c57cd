// SPDX-License-Identifier: MIT
// Tamed functions: from the word `tamed` to the body's bracket. Parameters, defaults, attributes,
// noexcept and requires clauses are passed over: they stay as they are.
#include "tame/parser.hh"

namespace heddle::tame {

bool parser::begins_function(std::size_t i) const noexcept {
  const node& around = at(state_.top);
  if (around.bracket != '{' || state_.now.head) return false;
  const token* before = previous();
  if (before != nullptr && before->kind == token_kind::punctuator && !before->is(";") &&
      !before->is("{") && !before->is("}") && !before->is(">") && !before->is(">>") &&
      !before->is(":") && !before->is("]") && !before->is(")"))
    return false;
  if (before != nullptr && before->kind == token_kind::identifier) {
    switch (before->name) {
      case word::class_:
      case word::struct_:
      case word::union_:
      case word::enum_:
      case word::namespace_:
      case word::using_:
      case word::goto_:
      case word::return_:
      case word::typename_:
      case word::case_:
      case word::delete_:
      case word::operator_:
        return false;
      default:
        break;
    }
  }
  const token* after = next(i);
  if (after == nullptr) return false;
  return after->kind == token_kind::identifier || after->is("::") || after->is("[") ||
         after->is("~");
}

void parser::begin_head(std::size_t i, bool by_macro) {
  function f;
  f.keyword = of(at(i));
  if (by_macro) f.before = function::result_word::of_macro;
  f.member = top().what == role::class_body;
  f.statement = f.keyword;
  if (state_.statement < token_index(i)) f.statement.begin = at(state_.statement).begin;
  if (state_.statement)
    f.is_template = at(state_.statement).is(word::template_) || is(next(i), word::template_);
  // static void tamed f()
  const token* p = previous();
  if (is(p, word::void_) || is(p, word::auto_)) {
    f.note_result();
    f.result = of(*p);
  }
  // constexpr tamed void f()
  const std::size_t behind = state_.previous ? state_.previous.value() + 1 : 0;
  for (std::size_t back = behind; back > 0 && back + 8 > behind; --back) {
    const token& b = at(back - 1);
    if (b.kind != token_kind::identifier) break;
    if (b.is(word::constexpr_) || b.is(word::consteval_)) f.constant = true;
  }
  f.statement.end = f.keyword.begin;
  found_.has_tame = true;
  found_.functions.push_back(std::move(f));
  state_.now.head = last_of(found_.functions);
  state_.now.stage = head_stage::type;
  state_.now.head_angles = 0;
}

void parser::step_head(std::size_t i) {
  const token& t = at(i);
  announced& now = state_.now;
  function& f = found_.at(now.head);
  const token* p = previous();
  const bool is_named = now.stage != head_stage::type;
  if (t.kind == token_kind::identifier) {
    switch (t.name) {
      case word::constexpr_:
      case word::consteval_:
        f.constant = true;
        break;
      case word::try_:
        out_.error("T0105", place(t), "the body of a tamed function cannot be a try block").hint =
            "put try { } into the body; waits are allowed in it, but not in a handler";
        break;
      case word::void_:
        if (f.trailing_result && is(p, "->")) f.result = of(t);
        break;
      case word::requires_:
        if (is(p, word::requires_) || is(p, "&&") || is(p, "||") || is(p, "!") || is(p, "="))
          now.next = control::requires_;
        break;
      case word::default_:
        if (now.stage == head_stage::assigned)
          out_.error("T0107", place(t), "a tamed function cannot be defaulted").hint =
              "remove `tamed`";
        break;
      default:
        break;
    }
    return;
  }
  if (t.kind != token_kind::punctuator) return;
  if (t.is("<") && (now.head_angles != 0 || is(p, word::template_))) ++now.head_angles;
  if (now.head_angles != 0) {  // the parameters of a template
    if (t.is(">")) --now.head_angles;
    if (t.is(">>")) now.head_angles -= 2;
    if (t.is(";") || t.is("}") || now.head_angles < 0) now.head_angles = 0;
    return;
  }
  if (t.is("(")) {
    if (is_named || is(p, word::operator_)) return;
    if (p == nullptr || is(p, word::alignas_) || is(p, word::attribute_) ||
        is(p, word::decltype_) || is(p, word::noexcept_) || is(p, word::explicit_) ||
        is(p, word::requires_))
      return;
    name_head(i);
    move_to(now.stage, head_stage::named);
  } else if (t.is("->") && is_named) {
    f.trailing_result = true;
  } else if (t.is("=")) {
    if (now.stage == head_stage::named) move_to(now.stage, head_stage::assigned);
  } else if (t.is(":") && is_named) {
    // name_head() has refused A::A and A in class A.
    if (out_.all().empty() || out_.all().back().at.begin != f.name.begin) {
      source::diagnostic& d =
          out_.error("T0101", place(f.keyword), "a constructor cannot be tamed");
      d.notes.push_back({place(t), "its member initializers begin here"});
      d.hint = "give the class a tamed member function, and call it at the end of the constructor";
    }
    now.head = {};
  } else if (t.is("}")) {
    now.head = {};
  }
}

/// Whether a name with the parenthesis `i` behind it is A::A, or A in the body of class A.
bool parser::names_constructor(std::size_t name, std::size_t i) const {
  const node& around = at(state_.top);
  if (around.what == role::class_body && !around.class_name.empty() &&
      tokens_.spelling(at(name)) == text_of(file_, around.class_name))
    return true;
  return i >= 3 && name + 3 <= i && at(i - 2).is("::") &&
         at(i - 3).kind == token_kind::identifier &&
         tokens_.spelling(at(i - 3)) == tokens_.spelling(at(i - 1));
}

/// Finds the name of a tamed function, at the parenthesis of its parameters.
void parser::name_head(std::size_t i) {
  function& f = found_.at(state_.now.head);
  f.parens = i;
  f.parameters_begin = at(i).end;
  // Back to `tamed`, or to the macro that expands to it.
  std::size_t first = i;
  while (first > 0 && at(first - 1).begin >= f.keyword.end) --first;
  std::size_t name = i;
  for (std::size_t j = first; j < i; ++j)
    if (at(j).is(word::operator_)) name = j;
  const bool is_operator = name != i;
  if (!is_operator) {
    if (name == first) return;
    --name;
    if (at(name).is(">") || at(name).is(">>")) {  // f<int>(
      int angles = 0;
      while (name > first) {
        if (at(name).is(">")) ++angles;
        if (at(name).is(">>")) angles += 2;
        if (at(name).is("<") && --angles == 0) break;
        --name;
      }
      if (name > first) --name;
    }
  }
  // The qualification: A::, A<T>::, ::
  while (name > first) {
    if (at(name - 1).is("~")) {
      --name;
      continue;
    }
    if (!at(name - 1).is("::")) break;
    --name;
    if (name == first) break;
    if (at(name - 1).kind == token_kind::identifier && !at(name - 1).is(word::void_)) {
      --name;
    } else if (at(name - 1).is(">")) {
      int angles = 0;
      while (name > first) {
        --name;
        if (at(name).is(">")) ++angles;
        if (at(name).is("<") && --angles == 0) break;
      }
      if (name > first) --name;
    } else {
      break;
    }
  }
  f.name = {at(name).begin, at(i - 1).end};
  for (std::size_t j = name; j < i; ++j) {
    if (!at(j).is("~")) continue;
    out_.error("T0102", place(f.name), "a destructor cannot be tamed").hint =
        "what must be waited for ends in a tamed member function; the destructor only cancels";
    return;
  }
  if (name + 1 == i && tokens_.spelling(at(name)) == "main") {
    out_.error("T0108", place(f.name), "main cannot be tamed").hint =
        "call a tamed function in main, and then tamer::loop()";
    return;
  }
  if (!is_operator && names_constructor(name, i)) {
    out_.error("T0101", place(f.name), "a constructor cannot be tamed").hint =
        "give the class a tamed member function, and call it at the end of the constructor";
    return;
  }
  check_result(f, first, name);
}

/// Checks the words between `tamed` and the name: specifiers and a type, or no type as the paper
/// has it.
void parser::check_result(function& f, std::size_t first, std::size_t name) {
  bool other = false;
  const token* builtin = nullptr;
  const token* pointer = nullptr;
  int angles = 0;
  for (std::size_t j = first; j < name; ++j) {
    const token& t = at(j);
    if (t.kind == token_kind::directive) continue;
    if (t.is("<") && (angles != 0 || (j > first && at(j - 1).is(word::template_)))) ++angles;
    if (angles != 0) {
      if (t.is(">")) --angles;
      if (t.is(">>")) angles -= 2;
      continue;
    }
    if (t.kind == token_kind::identifier) {
      switch (t.name) {
        case word::static_:
        case word::inline_:
        case word::virtual_:
        case word::extern_:
        case word::friend_:
        case word::constexpr_:
        case word::consteval_:
        case word::explicit_:
        case word::template_:
        case word::attribute_:
        case word::alignas_:
        case word::typename_:
          continue;
        case word::void_:
        case word::auto_:
          f.note_result();
          f.result = of(t);
          continue;
        case word::builtin_type_:
          builtin = &t;
          continue;
        default:
          other = true;
          continue;
      }
    }
    if (t.is("[") || t.is("(")) {  // an attribute, or the argument of a specifier
      int depth = 0;
      for (; j < name; ++j) {
        if (at(j).is("[") || at(j).is("(")) ++depth;
        if ((at(j).is("]") || at(j).is(")")) && --depth == 0) break;
      }
      continue;
    }
    if (t.is("*") || t.is("&")) pointer = &t;
  }
  const token* wrong = builtin != nullptr ? builtin : pointer;
  if (wrong != nullptr && (builtin == nullptr || !f.has_result())) {
    f.other_result = of(*wrong);
    f.note_result();
    // In the original dialect DEFAULT_RETURN may come, which only the definition has.
    if (language_ != dialect::tame) report_result(f);
    return;
  }
  if (other) f.note_result();
}

void parser::begin_body(std::size_t i) {
  const function_index head = state_.now.head;
  open(i, '{', role::tamed_body);
  top().begin_code(code::tamed, head);
  function& f = found_.at(head);
  f.what = function::form::definition;
  f.open = of(at(i));
  read_parameters(f);
  note_parameters(head);
}

/// Begins the body of a lambda, tamed or not.
void parser::begin_lambda(std::size_t i) {
  const announced now = state_.now;
  open(i, '{', role::lambda_body);
  node& n = top();
  if (!now.lambda_keyword) return n.begin_code(code::lambda);
  function f;
  f.keyword = of(at(now.lambda_keyword));
  f.what = function::form::lambda;
  f.before = function::result_word::written;
  f.trailing_result = now.lambda == lambda_stage::result;
  f.open = of(at(i));
  found_.has_tame = true;
  found_.functions.push_back(std::move(f));
  n.what = role::tamed_body;
  n.begin_code(code::tamed, last_of(found_.functions));
}

}  // namespace heddle::tame
