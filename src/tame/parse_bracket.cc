// SPDX-License-Identifier: MIT
// Brackets: each pair gets a role from the words before it.
#include "tame/parser.hh"

namespace heddle::tame {

/// Follows a lambda from its `]` to its body.
void parser::step_lambda(const token& t) noexcept {
  announced& now = state_.now;
  const bool has_result = now.lambda == lambda_stage::result;
  if (t.is("{")) return;
  if (t.is("(")) {
    if (now.lambda == lambda_stage::intro) move_to(now.lambda, lambda_stage::parameters);
    return;
  }
  if (t.is("<")) {
    ++now.lambda_angles;
    return;
  }
  if (t.is(">") || t.is(">>")) {
    now.lambda_angles -= t.is(">") ? 1 : 2;
    if (now.lambda_angles < 0) now.forget_lambda();
    return;
  }
  if (now.lambda_angles > 0) {
    if (t.is(";") || t.is("}")) now.forget_lambda();
    return;
  }
  if (t.is("->")) {
    if (!has_result) move_to(now.lambda, lambda_stage::result);
    return;
  }
  if (t.kind == token_kind::identifier) {
    switch (t.name) {
      case word::mutable_:
      case word::noexcept_:
      case word::constexpr_:
      case word::consteval_:
      case word::static_:
      case word::requires_:
      case word::attribute_:
      case word::tamed_:
        return;
      default:
        if (!has_result) now.forget_lambda();
        return;
    }
  }
  if (t.is("[") || t.is("]")) return;  // attributes
  if (has_result && (t.is("::") || t.is("*") || t.is("&") || t.is("&&"))) return;
  now.forget_lambda();
}

/// Follows a class from its keyword to its body.
void parser::step_class(const token& t) {
  announced& now = state_.now;
  const bool has_bases = now.in_class == class_stage::bases;
  if (t.kind == token_kind::identifier) {
    if (!has_bases && now.class_angles == 0 && tokens_.spelling(t) != "final")
      now.class_name = of(t);
  } else if (t.is("<")) {
    ++now.class_angles;
  } else if (t.is(">") || t.is(">>")) {
    now.class_angles -= t.is(">") ? 1 : 2;
    if (now.class_angles < 0) move_to(now.in_class, class_stage::none);
  } else if (t.is(":")) {
    if (!has_bases) move_to(now.in_class, class_stage::bases);
  } else if (t.is("(")) {
    if (!has_bases && now.class_angles == 0 && !is(previous(), word::alignas_) &&
        !is(previous(), word::attribute_) && !is(previous(), word::decltype_))
      move_to(now.in_class, class_stage::none);
  } else if (t.is(";") || t.is("=") || t.is(")") || t.is("}") ||
             (t.is(",") && !has_bases && now.class_angles == 0)) {
    move_to(now.in_class, class_stage::none);
  }
}

void parser::open(std::size_t i, char bracket, role what) {
  const node& p = top();
  node n;
  n.parent = state_.top;
  n.depth = p.depth + 1;
  n.bracket = bracket;
  n.what = what;
  n.open = i;
  n.in = p.in;
  n.function = p.function;
  n.enclosing = p.enclosing;
  n.in_wait = p.in_wait;
  n.catch_at = p.catch_at;
  n.expression_at = p.expression_at;
  n.loop_at = p.loop_at;
  n.in_switch = p.in_switch;
  n.label_blocked = p.label_blocked;
  n.names = state_.names;
  n.outer = state_.now;
  n.brace = bracket == '{' ? node_index(nodes_.size()) : p.brace;
  nodes_.push_back(std::move(n));
  state_.top = last_of(nodes_);
  state_.now = {};
  if (bracket == '{' || what == role::for_parens) state_.statement = {};
}

void parser::open_brace(std::size_t i) {
  const announced now = state_.now;
  if (now.next == control::wait && now.wait) {
    open(i, '{', role::wait_body);
    node& n = top();
    n.wait = n.in_wait = now.wait;
    n.label_blocked = n.in_switch;
    found_.at(now.wait).open = of(at(i));
    return;
  }
  if (now.next == control::vars) {
    open(i, '{', role::vars);
    found_.vars.back().open = of(at(i));
    top().vars = last_of(found_.vars);
    return;
  }
  if (now.next == control::default_return) {
    open(i, '{', role::default_body);
    top().begin_code(code::default_return);
    return;
  }
  if (now.next == control::requires_) return open(i, '{', role::requires_body);
  if (now.lambda != lambda_stage::none) return begin_lambda(i);
  if (now.head) return begin_body(i);
  if (now.next == control::catch_) {
    open(i, '{', role::catch_body);
    top().catch_at = state_.top;
    return;
  }
  if (now.next == control::switch_) {
    open(i, '{', role::switch_body);
    top().in_switch = true;
    top().label_blocked = false;
    return;
  }
  if (now.next == control::loop) {
    open(i, '{', role::plain);
    node& n = top();
    n.loop_at = state_.top;
    n.waits = found_.waits.size();
    return;
  }
  if (now.in_class != class_stage::none) {
    open(i, '{', role::class_body);
    top().begin_code(code::class_);
    top().class_name = now.class_name;
    return;
  }
  if (top().bracket == '(' && state_.previous == token_index(top().open) &&
      top().what == role::parens) {
    open(i, '{', role::statement_expression);
    top().expression_at = state_.top;
    return;
  }
  open(i, '{', role::plain);
}

void parser::open_paren(std::size_t i) {
  const announced now = state_.now;
  if (now.next == control::wait && now.wait) {
    open(i, '(', role::wait_arguments);
    top().wait = now.wait;
    wait_point& w = found_.at(now.wait);
    w.what = wait_point::kind::next;
    w.open = of(at(i));
    return;
  }
  if (now.next == control::for_ || now.next == control::while_) {
    if (!top().before_loop) top().before_loop = state_.names;
    return open(i, '(', role::for_parens);
  }
  if (now.next == control::event) return open(i, '(', role::event_arguments);
  open(i, '(', now.head ? role::head_parens : role::parens);
}

void parser::open_bracket(std::size_t i) {
  const token* p = previous();
  if (state_.now.next == control::wait) {
    const announced now = state_.now;
    open(i, '[', role::description);
    top().wait = now.wait;
    return;
  }
  const bool attribute =
      top().what == role::attribute || (is(next(i), "[") && next(i)->begin == at(i).end);
  if (attribute) return open(i, '[', role::attribute);
  bool operand = false;
  if (p != nullptr) {
    switch (p->kind) {
      case token_kind::identifier:
        operand = !p->is(word::return_) && !p->is(word::case_) && !p->is(word::else_) &&
                  !p->is(word::do_) && !p->is(word::throw_) && !p->is(word::co_return_) &&
                  !p->is(word::co_await_);
        break;
      case token_kind::punctuator:
        operand = p->is(")") || p->is("]");
        break;
      default:
        operand = true;
    }
  }
  if (operand && top().function) begin_array(i);
  open(i, '[', operand ? role::brackets : role::lambda_intro);
}

void parser::close(std::size_t i, char bracket) {
  if (top().bracket != bracket || state_.top == root) {
    const node& n = top();
    if (state_.top == root && body_ != body::file) {
      body_ = body::unbalanced_macro;
      return;
    }
    if (n.enclosing && state_.top != root) {
      const function& f = found_.at(n.enclosing);
      source::diagnostic& d =
          out_.error("T0110", place(at(i)), "this bracket closes none of its kind");
      d.notes.push_back({place(at(n.open)), "this one is open"});
      if (!f.name.empty()) d.notes.push_back({place(f.name), "in this function"});
      d.hint = "where a macro opens or closes it, write the bracket itself";
    }
    // Outside of tamed functions a mismatch is the compiler's matter: `}` closes the innermost `{`,
    // and other brackets are passed over.
    if (n.bracket != bracket && bracket != '{') return;
    if (!n.brace) return;
    state_.top = n.brace;
  }
  const node n = top();
  if (state_.top == last_of(nodes_) && nodes_.size() > pinned_) nodes_.pop_back();
  state_.top = n.parent;
  state_.now = n.outer;
  if (bracket == '{' && n.what != role::vars) {
    state_.names = n.names;
    end_loop_names();
  }
  closed(i, n);
}

/// Ends node `n` at its closing token; state_ is already the one from before it was opened.
void parser::closed(std::size_t i, const node& n) {
  announced& now = state_.now;
  switch (n.what) {
    case role::wait_body:
    case role::wait_arguments:
      close_wait(i, n);
      now = {};
      break;
    case role::vars:
      close_vars(i, n);
      now = {};
      break;
    case role::description: {
      wait_point& w = found_.at(n.wait);
      w.description = {at(n.open).end, at(i).begin};
      return;  // `twait [...]` goes on
    }
    case role::tamed_body: {
      report_arrays(n.function);
      function& f = found_.at(n.function);
      f.close = of(at(i));
      if (language_ == dialect::tame) report_result(f);  // else the head did
      if (f.is_lambda()) {
        move_to(now.lambda, lambda_stage::none);
        now.lambda_keyword = {};
      } else {
        now = {};
      }
      break;
    }
    case role::default_body:
      close_default_return(i, n);
      now = {};
      break;
    case role::lambda_intro:
      if (n.enclosing) lint_lambda(i, n);
      now.forget_lambda();
      move_to(now.lambda, lambda_stage::intro);
      return;
    case role::lambda_body:
      move_to(now.lambda, lambda_stage::none);
      break;
    case role::requires_body:
      now.next = control::none;
      return;
    case role::head_parens: {
      const token* p = previous();
      if (!now.head || !is(p, "...")) return;
      const std::size_t before = state_.previous.value();
      if (before > 0 && (at(before - 1).is(",") || at(before - 1).is("(")))
        found_.at(now.head).varargs = true;
      return;
    }
    case role::for_parens:
      now.next = control::loop;
      return;
    case role::event_arguments:
      now.next = control::none;
      return;
    default:
      if (n.bracket == '{' && n.loop_at && n.made_in_loop) end_loop(i, n);
      if (n.bracket == '{' && now.lambda == lambda_stage::none) now = {};
      break;
  }
  if (n.bracket == '{') state_.statement = {};
}

}  // namespace heddle::tame
