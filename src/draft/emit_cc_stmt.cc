// SPDX-License-Identifier: MIT
// Statements in C++.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// Whether the error may be none at all: not of a name, and not of a handler.
bool may_be_none(const expr& e) {
  const variable* const v = e.local();
  return e.means != meaning::error_name && (v == nullptr || !v->is_error);
}

}  // namespace

void cc_emitter::emit_block(const block& b, std::size_t first, bool ends) {
  for (std::size_t i = first; i != b.body.size(); ++i) {
    const stmt& s = *b.body[i];
    if (s.kind == stmt_kind::defer) {
      out_.comments_before(s.at.begin);
      if (emit_defer(s, b, i + 1)) return;
      continue;
    }
    emit_stmt(s, ends && i + 1 == b.body.size());
  }
  if (b.at.file != nullptr && b.at.end != 0) out_.comments_before(b.at.end);
}

void cc_emitter::emit_braces(const std::string& head, const block& b) {
  out_.open(head);
  emit_block(b);
  out_.close();
}

void cc_emitter::emit_stmt(const stmt& s, bool last) {
  if (s.at.file != nullptr) {
    out_.blank_as_in(s.at.begin);
    out_.comments_before(s.at.begin);
  }
  const std::size_t from = out_.size();
  emit_one(s, last);
  if (s.at.file != nullptr) out_.comment_at(s.at.file->line_of(s.at.begin), from);
}

void cc_emitter::emit_one(const stmt& s, bool last) {
  switch (s.kind) {
    case stmt_kind::let:
      return emit_let(s);
    case stmt_kind::expression:
      if (const or_expr* const x = s.a->get<or_expr>()) return emit_or(*x);
      return line(text(*s.a).alone() + ";");
    case stmt_kind::assign:
      return emit_assign(s);
    case stmt_kind::if_:
      return emit_if(s, "");
    case stmt_kind::while_:
      return emit_while(s);
    case stmt_kind::loop:
      return emit_loop("for (;;)", s);
    case stmt_kind::for_:
      return emit_for(s);
    case stmt_kind::match:
      return emit_match(s);
    case stmt_kind::any:
      return emit_any(s);
    case stmt_kind::wait:
      return emit_wait(s);
    case stmt_kind::scope:
      return emit_scope(s);
    case stmt_kind::nowait:
      return emit_braces("", s.body);
    case stmt_kind::within:
    case stmt_kind::shield:
      return emit_bounded(s, last);
    case stmt_kind::return_:
      return emit_return(s);
    case stmt_kind::break_:
    case stmt_kind::continue_:
      return emit_jump(s.kind);
    case stmt_kind::fail:
      return line(
          "throw " +
          (may_be_none(*s.a) ? cc_call("draft::failing", {text(*s.a)}) : text(*s.a)).alone() + ";");
    case stmt_kind::bad:
    case stmt_kind::defer:
      stop(s.at, "this statement");
  }
}

bool cc_emitter::moved(const variable& v) { return moved_.contains(&v); }

void cc_emitter::emit_let(const stmt& s) {
  const type& t = *s.var->type;
  if (s.name == "_") {  // the value is computed; an owner stays until the end of the block
    if (t.is_owned())
      return line("[[maybe_unused]] const " + type_text(t, s.at) + " " + fresh("unused") + " = " +
                  text(*s.a).alone() + ";");
    if (const or_expr* const x = s.a->get<or_expr>(); x != nullptr && short_or(*x).empty())
      return emit_or(*x);
    return line("static_cast<void>(" + text(*s.a).alone() + ");");
  }
  const std::string name = name_of(*s.var);
  const std::string head =
      (s.is_var || moved(*s.var) ? "" : "const ") + type_text(t, s.at) + " " + name;
  if (!s.a) return line(head + "{};");
  const expr& e = *s.a;
  if (const or_expr* const x = e.get<or_expr>(); x != nullptr && e.final_type() == e.type) {
    const type* const held = x->of_optional ? x->of->type->of : x->of->type;
    if (e.type == &t && held == &t) {
      if (const cc_expr value = short_or(*x); !value.empty())
        return line(head + " = " + value.alone() + ";");
      // The outcome has the variable's name, and the variable is what it holds.
      const cc_expr outcome = outcome_text(*x);
      line("auto " + name + " = " + outcome.alone() + ";");
      emit_handler(*x, name);
      texts_[s.var] = cc_prefix("*", cc_expr(name));
      return;
    }
  }
  const cc_expr whole = text(e);
  std::string value = whole.alone();
  if (value == "std::nullopt") value = "{}";
  const std::string made = type_text(t, s.at);
  if (value == made + "{}") return line(head + "{};");
  if (value == made + "()") return line(head + ";");
  // T x = T(a) is T x(a).
  if ((value.starts_with(made + "(") || value.starts_with(made + "{")) &&
      whole.rank() == cc_rank::primary && cc_is_one_call(value, made.size()))
    return line(head + value.substr(made.size()) + ";");
  line(head + (value == "{}" ? value : " = " + value) + ";");
}

void cc_emitter::emit_assign(const stmt& s) {
  if (s.op == word::s_set) {
    const cc_expr value = text(*s.b);
    if (is_c_text(*s.a))
      return line(cc_call("draft::set_text", {place_text(*s.a), value}).alone() + ";");
    return line(place_text(*s.a).beside() + " = " + value.alone() + ";");
  }
  const word op = s.op == word::s_add_set   ? word::s_add
                  : s.op == word::s_sub_set ? word::s_sub
                  : s.op == word::s_mul_set ? word::s_mul
                                            : word::s_div;
  // The right side first, as in Draft: it may wait, and change the left one.
  cc_expr right = text(*s.b);
  if (effect_of(*s.b) == effect::acts && meets(*s.b, *s.a)) {
    const std::string name = fresh("right");
    line("const " + type_text(*s.b->final_type(), s.at) + " " + name + " = " + right.alone() + ";");
    right = cc_expr(name);
  }
  cc_expr to = place_text(*s.a);
  if (effect_of(*s.a) > effect::reads) {
    const std::string name = fresh("target");
    line("auto& " + name + " = " + to.alone() + ";");
    to = cc_expr(name);
  }
  line(to.beside() + " = " + checked(op, *s.a->type, nullptr, to, right, s.at).alone() + ";");
}

std::string cc_emitter::condition(const stmt& s, const std::string& keyword) {
  cc_expr value = text(*s.a);
  if (s.name.empty()) {
    if (cc_waits(value)) {  // GCC 12 does not go on after a co_await in a condition
      const std::string name = fresh("holds");
      line("const bool " + name + " = " + value.alone() + ";");
      value = cc_expr(name);
    }
    return keyword + " (" + value.alone() + ")";
  }
  const std::string name = s.name == "_" ? fresh("unused") : name_of(*s.var);
  texts_[s.var] = cc_prefix("*", cc_expr(name));
  return keyword + " (" + (moved(*s.var) ? "auto " : "const auto ") + name + " = " + value.alone() +
         ")";
}

void cc_emitter::emit_if(const stmt& s, const std::string& before) {
  const std::size_t from = out_.size();
  const std::string head = condition(s, "if");
  if (before.empty())
    out_.open(head);
  else
    out_.between("else " + head);
  emit_block(s.body);
  if (!s.has_else) return before.empty() ? out_.close_if(from) : out_.close();
  if (s.else_body.body.size() == 1 && s.else_body.body[0]->kind == stmt_kind::if_ &&
      !grows(*s.else_body.body[0]->a) && !holds_wait(*s.else_body.body[0]->a))
    return emit_if(*s.else_body.body[0], "else");
  out_.between("else");
  emit_block(s.else_body);
  out_.close();
}

void cc_emitter::emit_match(const stmt& s) {
  const type& t = *s.a->final_type();
  cc_expr subject = text(*s.a);
  bool plain = t.is(kind::view) || t.is(kind::error) || t.is(kind::boolean);
  for (const match_arm& arm : s.arms) {
    const exits e = exits_of(arm.body);
    plain |= e.breaks;  // a break in a switch would leave only that
  }
  if (plain) {
    if (effect_of(*s.a) > effect::none || subject.alone().find('(') != std::string::npos) {
      const std::string name = fresh("subject");
      line("const auto " + name + " = " +
           (t.is(kind::view) ? cc_call("std::string_view", {subject}) : subject).alone() + ";");
      subject = cc_expr(name);
    }
    const bool all = leaves(s);
    for (std::size_t i = 0; i != s.arms.size(); ++i) {
      const match_arm& arm = s.arms[i];
      cc_expr tests;
      for (const expr_ptr& p : arm.patterns) {
        const cc_expr one = !t.is(kind::boolean) ? cc_infix(subject, "==", text(*p))
                            : p->number != 0     ? subject
                                                 : cc_prefix("!", subject);
        tests = tests.empty() ? one : cc_infix(tests, "||", one);
      }
      const std::string& test = tests.alone();
      const bool last = arm.otherwise || (all && i + 1 == s.arms.size());
      if (i == 0 && last)
        out_.open("");
      else if (i == 0)
        out_.open("if (" + test + ")");
      else
        out_.between(last ? "else" : "else if (" + test + ")");
      if (last && !arm.otherwise) line("// " + test);
      emit_block(arm.body);
      if (arm.otherwise) break;
    }
    return out_.close();
  }
  if (cc_waits(subject)) {
    const std::string name = fresh("subject");
    line("const auto " + name + " = " + subject.alone() + ";");
    subject = cc_expr(name);
  }
  out_.open("switch (" + subject.alone() + ")");
  for (std::size_t i = 0; i != s.arms.size(); ++i) {
    const match_arm& arm = s.arms[i];
    for (const expr_ptr& p : arm.patterns) line("case " + text(*p).alone() + ":");
    const bool last = !arm.otherwise && i + 1 == s.arms.size() && leaves(s);
    if (arm.otherwise || last) line("default:");
    const std::size_t from = out_.size();
    out_.open_case();
    emit_block(arm.body);
    if (!leaves(arm.body)) line("break;");
    out_.close_case(from);
  }
  out_.close();
}

void cc_emitter::emit_return(const stmt& s) {
  std::string value;
  if (s.a && s.a->type->is(kind::void_)) {
    if (const or_expr* const x = s.a->get<or_expr>())
      emit_or(*x);
    else
      line(text(*s.a).alone() + ";");
  } else if (s.a) {
    value = text(*s.a).alone();
    // A local variable that is returned moves by itself.
    if (const name_expr* const n = s.a->get<name_expr>(); n != nullptr && n->moves &&
                                                          !texts_.contains(n->var) &&
                                                          places_.back().how != place::form::ways)
      value = name_of(*n->var);
  }
  leave_with(value);
}

void cc_emitter::emit_jump(stmt_kind kind) {
  const place& p = places_.back();
  const bool leaves_loop = kind == stmt_kind::break_;
  if (p.how == place::form::ways && p.loops == 0)
    return line(leaves_loop ? "co_return draft::way::breaks;" : "co_return draft::way::continues;");
  line(leaves_loop ? "break;" : "continue;");
}

}  // namespace heddle::draft
