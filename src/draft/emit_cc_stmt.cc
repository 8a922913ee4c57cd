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
  return e.means != meaning::error_name && (v == nullptr || v->role != variable_role::error);
}

}  // namespace

void cc_emitter::emit_block(const block& b, std::size_t first, bool ends) {
  for (std::size_t i = first; i != b.body.size(); ++i) {
    const stmt& s = *b.body[i];
    if (const defer_stmt* const x = s.get<defer_stmt>()) {
      out_.comments_before(s.at.begin);
      if (emit_defer(*x, b, i + 1)) return;
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
  by_kind(
      s, [&](const let_stmt& x) { emit_let(x, s.at); },
      [&](const expression_stmt& x) {
        if (const or_expr* const handles = x.value->get<or_expr>()) return emit_or(*handles);
        line(text(*x.value).alone() + ";");
      },
      [&](const assign_stmt& x) { emit_assign(x, s.at); },
      [&](const if_stmt& x) { emit_if(x, ""); }, [&](const while_stmt& x) { emit_while(x); },
      [&](const loop_stmt& x) { emit_loop("for (;;)", x.body, x.yields); },
      [&](const for_stmt& x) { emit_for(x, s.at); },
      [&](const match_stmt& x) { emit_match(x, leaves(s)); },
      [&](const any_stmt& x) { emit_any(x); }, [&](const wait_stmt& x) { emit_wait(x); },
      [&](const scope_stmt& x) { emit_lambda(x.body, 0, fresh("jobs"), "with_scope("); },
      [&](const nowait_stmt& x) { emit_braces("", x.body); },
      [&](const within_stmt& x) { emit_bounded(x.body, x.limit.get(), last); },
      [&](const shield_stmt& x) { emit_bounded(x.body, nullptr, last); },
      [&](const return_stmt& x) { emit_return(x); }, [&](const break_stmt&) { emit_jump(true); },
      [&](const continue_stmt&) { emit_jump(false); },
      [&](const fail_stmt& x) {
        const cc_expr error = text(*x.error);
        line("throw " +
             (may_be_none(*x.error) ? cc_call("draft::failing", {error}) : error).alone() + ";");
      },
      [&](const one_of<bad_stmt, defer_stmt> auto&) { stop(s.at, "this statement"); });
}

bool cc_emitter::moved(const variable& v) { return moved_.contains(&v); }

void cc_emitter::emit_let(const let_stmt& x, span at) {
  const type& t = *x.var->type;
  if (x.name == "_") {  // the value is computed; an owner stays until the end of the block
    if (t.is_owned())
      return line("[[maybe_unused]] const " + type_text(t, at) + " " + fresh("unused") + " = " +
                  text(*x.value).alone() + ";");
    if (const or_expr* const handles = x.value->get<or_expr>();
        handles != nullptr && short_or(*handles).empty())
      return emit_or(*handles);
    return line("static_cast<void>(" + text(*x.value).alone() + ");");
  }
  const std::string name = name_of(*x.var);
  const std::string head =
      (x.is_var || moved(*x.var) ? "" : "const ") + type_text(t, at) + " " + name;
  if (!x.value) return line(head + "{};");
  const expr& e = *x.value;
  if (const or_expr* const handles = e.get<or_expr>();
      handles != nullptr && e.final_type() == e.type) {
    const type* const held = handles->of_optional ? handles->of->type->of : handles->of->type;
    if (e.type == &t && held == &t) {
      if (const cc_expr value = short_or(*handles); !value.empty())
        return line(head + " = " + value.alone() + ";");
      // The outcome has the variable's name, and the variable is what it holds.
      const cc_expr outcome = outcome_text(*handles);
      line("auto " + name + " = " + outcome.alone() + ";");
      emit_handler(*handles, name);
      texts_[x.var] = cc_prefix("*", cc_expr(name));
      return;
    }
  }
  const cc_expr whole = text(e);
  std::string value = whole.alone();
  if (value == "std::nullopt") value = "{}";
  const std::string made = type_text(t, at);
  if (value == made + "{}") return line(head + "{};");
  if (value == made + "()") return line(head + ";");
  // T x = T(a) is T x(a).
  if ((value.starts_with(made + "(") || value.starts_with(made + "{")) &&
      whole.rank() == cc_rank::primary && cc_is_one_call(value, made.size()))
    return line(head + value.substr(made.size()) + ";");
  line(head + (value == "{}" ? value : " = " + value) + ";");
}

void cc_emitter::emit_assign(const assign_stmt& x, span at) {
  if (x.op == word::s_set) {
    const cc_expr value = text(*x.value);
    if (is_c_text(*x.to))
      return line(cc_call("draft::set_text", {place_text(*x.to), value}).alone() + ";");
    return line(place_text(*x.to).beside() + " = " + value.alone() + ";");
  }
  // The right side first, as in Draft: it may wait, and change the left one.
  cc_expr right = text(*x.value);
  if (effect_of(*x.value) == effect::acts && meets(*x.value, *x.to)) {
    const std::string name = fresh("right");
    line("const " + type_text(*x.value->final_type(), at) + " " + name + " = " + right.alone() +
         ";");
    right = cc_expr(name);
  }
  cc_expr to = place_text(*x.to);
  if (effect_of(*x.to) > effect::reads) {
    const std::string name = fresh("target");
    line("auto& " + name + " = " + to.alone() + ";");
    to = cc_expr(name);
  }
  line(to.beside() + " = " + checked(x.computes(), *x.to->type, nullptr, to, right, at).alone() +
       ";");
}

cc_expr cc_emitter::holds_text(const expr& e) {
  const cc_expr value = text(e);
  if (!cc_waits(value)) return value;
  const std::string name = fresh("holds");
  line("const bool " + name + " = " + value.alone() + ";");
  return cc_expr(name);
}

std::string cc_emitter::condition_text(const condition& c, const std::string& keyword) {
  if (c.name.empty()) return keyword + " (" + holds_text(*c.value).alone() + ")";
  const cc_expr value = text(*c.value);
  const std::string name = c.name == "_" ? fresh("unused") : name_of(*c.var);
  texts_[c.var] = cc_prefix("*", cc_expr(name));
  return keyword + " (" + (moved(*c.var) ? "auto " : "const auto ") + name + " = " + value.alone() +
         ")";
}

void cc_emitter::emit_if(const if_stmt& x, const std::string& before) {
  const std::size_t from = out_.size();
  const std::string head = condition_text(x.when, "if");
  if (before.empty())
    out_.open(head);
  else
    out_.between("else " + head);
  emit_block(x.body);
  if (!x.otherwise) return before.empty() ? out_.close_if(from) : out_.close();
  const std::vector<stmt_ptr>& rest = x.otherwise->body;
  const if_stmt* const next = rest.size() == 1 ? rest[0]->get<if_stmt>() : nullptr;
  if (next != nullptr && !grows(*next->when.value) && !holds_wait(*next->when.value))
    return emit_if(*next, "else");
  out_.between("else");
  emit_block(*x.otherwise);
  out_.close();
}

void cc_emitter::emit_match(const match_stmt& x, bool all) {
  const type& t = *x.value->final_type();
  cc_expr subject = text(*x.value);
  bool plain = t.is(kind::view) || t.is(kind::error) || t.is(kind::boolean);
  for (const match_arm& arm : x.arms) {
    const exits e = exits_of(arm.body);
    plain |= e.breaks;  // a break in a switch would leave only that
  }
  if (plain) {
    if (effect_of(*x.value) > effect::none || subject.alone().find('(') != std::string::npos) {
      const std::string name = fresh("subject");
      line("const auto " + name + " = " +
           (t.is(kind::view) ? cc_call("std::string_view", {subject}) : subject).alone() + ";");
      subject = cc_expr(name);
    }
    for (std::size_t i = 0; i != x.arms.size(); ++i) {
      const match_arm& arm = x.arms[i];
      cc_expr tests;
      for (const expr_ptr& p : arm.patterns) {
        const cc_expr one = !t.is(kind::boolean) ? cc_infix(subject, "==", text(*p))
                            : p->number != 0     ? subject
                                                 : cc_prefix("!", subject);
        tests = tests.empty() ? one : cc_infix(tests, "||", one);
      }
      const std::string& test = tests.alone();
      const bool last = arm.otherwise || (all && i + 1 == x.arms.size());
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
  for (std::size_t i = 0; i != x.arms.size(); ++i) {
    const match_arm& arm = x.arms[i];
    for (const expr_ptr& p : arm.patterns) line("case " + text(*p).alone() + ":");
    const bool last = !arm.otherwise && i + 1 == x.arms.size() && all;
    if (arm.otherwise || last) line("default:");
    const std::size_t from = out_.size();
    out_.open_case();
    emit_block(arm.body);
    if (!leaves(arm.body)) line("break;");
    out_.close_case(from);
  }
  out_.close();
}

void cc_emitter::emit_return(const return_stmt& x) {
  std::string value;
  if (x.value && x.value->type->is(kind::void_)) {
    if (const or_expr* const handles = x.value->get<or_expr>())
      emit_or(*handles);
    else
      line(text(*x.value).alone() + ";");
  } else if (x.value) {
    value = text(*x.value).alone();
    // A local variable that is returned moves by itself.
    if (const name_expr* const n = x.value->get<name_expr>();
        n != nullptr && n->moves && !texts_.contains(n->var) &&
        places_.back().how != place::form::ways)
      value = name_of(*n->var);
  }
  leave_with(value);
}

void cc_emitter::emit_jump(bool leaves_loop) {
  const place& p = places_.back();
  if (p.how == place::form::ways && p.loops == 0)
    return line(leaves_loop ? "co_return draft::way::breaks;" : "co_return draft::way::continues;");
  line(leaves_loop ? "break;" : "continue;");
}

}  // namespace heddle::draft
