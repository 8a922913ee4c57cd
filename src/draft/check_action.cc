// SPDX-License-Identifier: MIT
// Types of actions: functions that a call passes down to a parameter. The body of one belongs to
// the function that writes it and sees its variables.
#include <utility>

#include "draft/checker.hh"
#include "draft/walk.hh"

namespace heddle::draft {

void checker::note_result_here(source::diagnostic& d) const {
  if (action_ != nullptr)
    d.notes.push_back({action_at_, "it is passed as " + action_->name});
  else
    d.notes.push_back({function_->decl->at, "its result has no '!'"});
}

void checker::check_action_argument(expr& e, const type& want, const std::string& what) {
  if (action_expr* const x = e.get<action_expr>()) return check_action_body(e, *x, want);
  name_expr* const name = e.get<name_expr>();
  variable* const v = name != nullptr ? find_variable(name->name) : nullptr;
  if (v != nullptr && v->type->is(kind::action)) {
    v->used = true;
    e.means = meaning::local;
    name->var = v;
    e.type = v->type;
    if (v->type != &want)
      error("D0004", e.at, what + " wants " + want.name + ", and this is " + v->type->name);
    return;
  }
  const symbol* const s = name != nullptr && v == nullptr ? find_symbol(name->name) : nullptr;
  if (s != nullptr && s->fn != nullptr) {
    error("D0703", e.at, what + " wants an action, and " + quoted(name->name) + " is a function")
        .hint = "write fn() { " + std::string(name->name) + "(...) }";
    wrong(e);
    return;
  }
  check(e);
  e.fallible = false;
  if (e.type->is(kind::poison)) return;
  error("D0703", e.at, what + " wants an action, and this is " + e.type->name).hint =
      "write fn() { ... }";
}

void checker::check_action_body(expr& e, action_expr& x, const type& want) {
  const auto outer_names = std::exchange(outer_names_, scope_.size());
  const auto loops = std::exchange(loops_, 0U);
  const auto waits = std::exchange(waits_, {});
  const type* const around = std::exchange(action_, &want);
  const span around_at = std::exchange(action_at_, e.at);
  block& b = *x.body;
  const bool gives = !want.of->is(kind::void_) || want.of_fallible;
  if (gives && b.body.size() == 1 && b.body[0]->is<expression_stmt>()) {
    const names_here scope(*this);
    check_action_result(*b.body[0], want);
    ++function_->size;
  } else {
    check_block(b);
  }
  if (!want.of->is(kind::void_) && !leaves(b))
    error("D0004", e.at,
          "this action gives a " + want.of->name + ", and its end is reached without one");
  action_ = around;
  action_at_ = around_at;
  waits_ = waits;
  loops_ = loops;
  outer_names_ = outer_names;
  e.type = &want;
}

void checker::check_action_result(stmt& only, const type& want) {
  expr_ptr value = std::move(only.as<expression_stmt>().value);
  const type* const wanted = want.of->is(kind::void_) ? nullptr : want.of;
  const type* const t = check(*value, wanted);
  if (value->fallible && want.of_fallible) {
    value->fallible = false;
    const span at = value->at;  // before the move: arguments have no order
    expr_ptr tries = make_expr(at, try_expr{std::move(value)});
    tries->type = t;
    value = std::move(tries);
  }
  give_result(*value);
  only.how = return_stmt{std::move(value)};
}

const type* checker::check_action_call(expr& e, call_expr& x, variable& v) {
  v.used = true;
  name_expr& name = x.called->as<name_expr>();
  name.var = &v;
  x.called->means = meaning::local;
  x.called->type = v.type;
  e.means = meaning::action;
  for (argument& a : x.args) {
    check(*a.value);
    a.value->fallible = false;
  }
  if (!x.args.empty())
    error("D0006", e.at, "an action takes no arguments").hint =
        "it sees the variables around its braces";
  e.fallible = v.type->of_fallible;
  return e.type = v.type->of;
}

const type* checker::refuse_action(expr& e, const action_expr& x) {
  error("D0703", e.at, "an action is written where a parameter wants one, and nowhere else").hint =
      "an action is passed down and never kept, returned or sent";
  // The names in it count as used.
  walk(
      *x.body,
      [&](const expr& part) {
        const name_expr* const n = part.get<name_expr>();
        variable* const v = n != nullptr ? find_variable(n->name) : nullptr;
        if (v != nullptr) v->used = true;
      },
      [](const stmt&) {});
  return wrong(e);
}

}  // namespace heddle::draft
