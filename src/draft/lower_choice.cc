// SPDX-License-Identifier: MIT
// Statements that choose between blocks: if, match, any.
#include <algorithm>
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

void lowering::lower_condition(const condition& c, block_id yes, block_id no, span at) {
  const std::uint32_t mark = top_;
  if (c.name.empty()) {
    value v = safe(lower(*c.value), at);
    if (top_ != mark) {
      const var_id tmp = add_temp(v.type, at);
      set(value_of(tmp), std::move(v), at);
      v = value_of(tmp);
      leave_to(mark, at);
    }
    branch(std::move(v), yes, no, at);
    at_ = yes;
    return;
  }
  const type* const t = c.value->type;
  const var_id tmp = add_temp(t, at);
  if (t->needs_release()) add(at, clear_instr{tmp});
  store(value_of(tmp), *c.value);
  if (open() && top_ != mark) leave_to(mark, at);
  top_ = mark;
  branch(make(types_.basic(kind::boolean), has_value{value_of(tmp)}), yes, no, at);
  at_ = yes;
  const var_id id = declare(*c.var);
  set(value_of(id), make(t->of, held_value{value_of(tmp)}), at);
  if (t->of->needs_release()) push_release(id);
}

void lowering::lower_if(const if_stmt& x, span at) {
  const block_id yes = fresh("then", at);
  const block_id after = fresh("after_if", at);
  const block_id no = x.otherwise ? fresh("else", at) : after;
  const std::uint32_t mark = top_;
  lower_condition(x.when, yes, no, at);
  lower_block(x.body);
  if (open()) leave_to(mark, at);
  top_ = mark;
  go(after);
  if (x.otherwise) {
    at_ = no;
    lower_block(*x.otherwise);
    go(after);
  }
  at_ = after;
}

void lowering::lower_match(const match_stmt& x, span at) {
  const std::uint32_t mark = top_;
  const type* const t = x.value->final_type();
  value subject = safe(lower(*x.value), at);
  if (top_ != mark || t->is(kind::view)) {
    const var_id tmp = add_temp(t, at);
    note_value_views(tmp, subject);
    set(value_of(tmp), std::move(subject), at);
    subject = value_of(tmp);
  }
  // The owner of a text is compared first, so it lives to the end of the case.
  if (!t->is(kind::view)) {
    if (open() && top_ != mark) leave_to(mark, at);
    top_ = mark;
  }
  const std::uint32_t inner = top_;
  const block_id after = fresh("after_match", at);
  choose_tail choice{std::move(subject), {}, {}};
  std::vector<block_id> next;
  block_id otherwise = no_id;
  std::vector<std::pair<block_id, const match_arm*>> arms;
  for (const match_arm& a : x.arms) {
    const block_id to = fresh("case", a.at);
    arms.emplace_back(to, &a);
    if (a.otherwise) otherwise = to;
    for (const expr_ptr& p : a.patterns) {
      if (t->is(kind::view)) {
        choice.texts.push_back(bytes_of(*p));
      } else {
        choice.cases.push_back(p->number);
      }
      next.push_back(to);
    }
  }
  // Without else all values have a case; the last of them takes what cannot be.
  next.push_back(otherwise != no_id ? otherwise : arms.back().first);
  finish(at, std::move(next), std::move(choice));
  for (const auto& [to, arm] : arms) {
    at_ = to;
    top_ = inner;
    lower_block(arm->body);
    if (open() && top_ != mark) leave_to(mark, at);
    top_ = mark;
    go(after);
  }
  at_ = after;
}

void lowering::lower_any(const any_stmt& x, span at) {
  const std::uint32_t mark = top_;
  const block_id ask = fresh("any", at);
  const block_id after = fresh("after_any", at);
  const var_id won = add_slot("won_" + line_text(at), types_.basic(kind::u32), at);
  any_tail choice{{}, won};
  std::vector<block_id> next;
  const any_arm* otherwise = nullptr;
  struct lowered {
    const any_arm* arm;
    block_id to;
    var_id result;
  };
  std::vector<lowered> arms;
  won_.push_back(won);
  for (const any_arm& a : x.arms) {
    if (a.kind == any_arm::form::failed) {
      otherwise = &a;
      continue;
    }
    operation_call c;
    var_id result = no_id;
    if (a.kind == any_arm::form::after) {
      c.builtin = find_operation(receiver::time, "sleep");
      c.sets_status = true;
      c.pass(stable(lower_argument(*a.what, true), a.at));
    } else {
      c = make_operation(a.what->as<call_expr>(), true);
      const type* const type_of = a.what->type;
      if (!type_of->is(kind::void_)) {
        result = a.var != nullptr ? add_slot(a.var->name, type_of, a.at) : add_temp(type_of, a.at);
        if (type_of->needs_release()) add(a.at, clear_instr{result});
        c.result = result;
      }
    }
    const block_id to = fresh("arm", a.at);
    arms.push_back({&a, to, result});
    choice.arms.push_back(std::move(c));
    next.push_back(to);
  }
  flow_.arms_max = std::max(flow_.arms_max, static_cast<std::uint32_t>(choice.arms.size()));
  // Values that an arm would send and did not are dropped with the statement.
  const std::uint32_t inner = top_;
  go(ask);
  at_ = ask;
  const std::vector<operation_call> waits = choice.arms;
  finish(at, std::move(next), std::move(choice));
  const block_id failed = fresh("any_failed", at);
  for (std::size_t n = 0; n != arms.size(); ++n) {
    at_ = arms[n].to;
    top_ = inner;
    // A send arm has given its value away; a failed one has dropped it.
    if (waits[n].builtin->params.find("take ") != std::string_view::npos)
      for (const passed& a : waits[n].args)
        if (a.by_address) add(at, clear_instr{a.what.slot()});
    check_status(failed, arms[n].arm->at);
    if (arms[n].result != no_id) {
      const var_id id = arms[n].result;
      if (arms[n].arm->var != nullptr) context_->names[arms[n].arm->var] = id;
      if (arms[n].arm->kind == any_arm::form::wait)
        note_call_views(arms[n].arm->what->as<call_expr>(), id);
      if (flow_.slots[id].type->needs_release()) push_release(id);
    }
    lower_block(arms[n].arm->body);
    if (open()) leave_to(mark, at);
    top_ = mark;
    go(after);
  }
  at_ = failed;
  top_ = inner;
  if (otherwise != nullptr) {
    declare_error(*otherwise->var, at);
    lower_block(otherwise->body);
    if (open()) leave_to(mark, at);
    top_ = mark;
    go(after);
  } else {
    go(unwind_to(top_));
  }
  top_ = mark;
  at_ = after;
}

}  // namespace heddle::draft
