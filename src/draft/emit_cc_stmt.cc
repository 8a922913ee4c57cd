// SPDX-License-Identifier: MIT
// Statements in C++.
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {

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
      if (s.a->kind == expr_kind::or_else) return emit_or(*s.a);
      return line(text(*s.a) + ";");
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
      return line("throw " + text(*s.a) + ";");
    default:
      stop(s.at, "this statement");
  }
}

bool cc_emitter::moved(const variable& v) { return moved_.contains(&v); }

void cc_emitter::emit_let(const stmt& s) {
  const type& t = *s.var->type;
  if (s.name == "_") {  // it is evaluated, and an owner stays until the end of the block
    if (t.is_owned())
      return line("[[maybe_unused]] const " + type_text(t, s.at) + " " + fresh("unused") + " = " +
                  text(*s.a) + ";");
    if (s.a->kind == expr_kind::or_else && short_or(*s.a).empty()) return emit_or(*s.a);
    return line("static_cast<void>(" + text(*s.a) + ");");
  }
  const std::string name = name_of(*s.var);
  const std::string head =
      (s.is_var || moved(*s.var) ? "" : "const ") + type_text(t, s.at) + " " + name;
  if (!s.a) return line(head + "{};");
  const expr& e = *s.a;
  if (e.kind == expr_kind::or_else && (e.to == nullptr || e.to == e.type) && e.type == &t) {
    const type* const held = e.of_optional ? e.a->type->of : e.a->type;
    if (held == &t) {
      if (const std::string value = short_or(e); !value.empty())
        return line(head + " = " + value + ";");
      // The outcome has the variable's name, and the variable is what it holds.
      const std::string outcome = outcome_text(e);
      line("auto " + name + " = " + outcome + ";");
      emit_handler(e, name, name + ".error()");
      texts_[s.var] = "*" + name;
      return;
    }
  }
  std::string value = text(e);
  if (value == "std::nullopt") value = "{}";
  const std::string made = type_text(t, s.at);
  if (value == made + "{}") return line(head + "{};");
  if (value == made + "()") return line(head + ";");
  // T x = T(a) is T x(a).
  if ((value.starts_with(made + "(") || value.starts_with(made + "{")) &&
      cc_primary(value) == value && cc_is_one_call(value, made.size()))
    return line(head + value.substr(made.size()) + ";");
  line(head + (value == "{}" ? value : " = " + value) + ";");
}

void cc_emitter::emit_assign(const stmt& s) {
  if (s.op == word::s_set) {
    const std::string value = text(*s.b);
    if (is_c_text(*s.a)) return line("draft::set_text(" + place_text(*s.a) + ", " + value + ");");
    return line(place_text(*s.a) + " = " + value + ";");
  }
  const word op = s.op == word::s_add_set   ? word::s_add
                  : s.op == word::s_sub_set ? word::s_sub
                  : s.op == word::s_mul_set ? word::s_mul
                                            : word::s_div;
  // The right side first, as in Draft: it may wait, and change the left one.
  std::string right = text(*s.b);
  if (effect_of(*s.b) == effect::acts && meets(*s.b, *s.a)) {
    const std::string name = fresh("right");
    line("const " + type_text(s.b->to != nullptr ? *s.b->to : *s.b->type, s.at) + " " + name +
         " = " + right + ";");
    right = name;
  }
  std::string to = place_text(*s.a);
  if (effect_of(*s.a) > effect::reads) {
    const std::string name = fresh("target");
    line("auto& " + name + " = " + to + ";");
    to = name;
  }
  line(to + " = " + checked(op, *s.a->type, nullptr, to, right, s.at) + ";");
}

std::string cc_emitter::condition(const stmt& s, const std::string& keyword) {
  std::string value = text(*s.a);
  if (s.name.empty()) {
    if (cc_waits(value)) {  // GCC 12 does not go on after a co_await in a condition
      const std::string name = fresh("holds");
      line("const bool " + name + " = " + value + ";");
      value = name;
    }
    return keyword + " (" + value + ")";
  }
  const std::string name = s.name == "_" ? fresh("unused") : name_of(*s.var);
  texts_[s.var] = "*" + name;
  return keyword + " (" + (moved(*s.var) ? "auto " : "const auto ") + name + " = " + value + ")";
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
  const type& t = s.a->to != nullptr ? *s.a->to : *s.a->type;
  std::string subject = text(*s.a);
  bool plain = t.is(kind::view) || t.is(kind::error) || t.is(kind::boolean);
  for (const match_arm& arm : s.arms) {
    const exits e = exits_of(arm.body);
    plain |= e.breaks;  // a break in a switch would leave only that
  }
  if (plain) {
    if (effect_of(*s.a) > effect::none || subject.find('(') != std::string::npos) {
      const std::string name = fresh("subject");
      line("const auto " + name + " = " +
           (t.is(kind::view) ? "std::string_view(" + subject + ")" : subject) + ";");
      subject = name;
    }
    const bool all = leaves(s);
    for (std::size_t i = 0; i != s.arms.size(); ++i) {
      const match_arm& arm = s.arms[i];
      std::string test;
      for (const expr_ptr& p : arm.patterns) {
        const std::string value = text(*p);
        const std::string one = t.is(kind::boolean)
                                    ? (p->number != 0 ? subject : "!" + cc_primary(subject))
                                    : subject + " == " + value;
        test += (test.empty() ? "" : " || ") + one;
      }
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
    line("const auto " + name + " = " + subject + ";");
    subject = name;
  }
  out_.open("switch (" + subject + ")");
  for (std::size_t i = 0; i != s.arms.size(); ++i) {
    const match_arm& arm = s.arms[i];
    for (const expr_ptr& p : arm.patterns) line("case " + text(*p) + ":");
    const bool last = !arm.otherwise && i + 1 == s.arms.size() && leaves(s);
    if (arm.otherwise || last) line("default:");
    out_.open_case();
    emit_block(arm.body);
    if (!leaves(arm.body)) line("break;");
    out_.close_case();
  }
  out_.close();
}

void cc_emitter::emit_return(const stmt& s) {
  std::string value;
  if (s.a && s.a->type->is(kind::void_)) {
    if (s.a->kind == expr_kind::or_else)
      emit_or(*s.a);
    else
      line(text(*s.a) + ";");
  } else if (s.a) {
    value = text(*s.a);
    // A local variable that is returned moves by itself.
    if (s.a->kind == expr_kind::name && s.a->moves && !texts_.contains(s.a->var) &&
        places_.back().how != place::form::ways)
      value = name_of(*s.a->var);
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
