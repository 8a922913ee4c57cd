// SPDX-License-Identifier: MIT
// Statements that choose between blocks: if, match, any.
#include <algorithm>
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

void lowering::lower_condition(const stmt& s, block_id yes, block_id no) {
  const std::uint32_t mark = top_;
  if (s.name.empty()) {
    value v = safe(lower(*s.a), s.at);
    if (top_ != mark) {
      const var_id tmp = add_temp(v.type, s.at);
      set(slot_value(tmp), std::move(v), s.at);
      v = slot_value(tmp);
      leave_to(mark, s.at);
    }
    branch(std::move(v), yes, no, s.at);
    at_ = yes;
    return;
  }
  const type* const t = s.a->type;
  const var_id tmp = add_temp(t, s.at);
  if (t->needs_release()) add(s.at, clear_instr{tmp});
  store(slot_value(tmp), *s.a);
  if (open() && top_ != mark) leave_to(mark, s.at);
  top_ = mark;
  value has = make(value_op::has, types_.basic(kind::boolean), {});
  has.kids.push_back(slot_value(tmp));
  branch(std::move(has), yes, no, s.at);
  at_ = yes;
  const var_id id = declare(*s.var);
  value held = make(value_op::held, t->of, {});
  held.kids.push_back(slot_value(tmp));
  set(slot_value(id), std::move(held), s.at);
  if (t->of->needs_release()) push_release(id);
}

void lowering::lower_if(const stmt& s) {
  const block_id yes = fresh("then", s.at);
  const block_id after = fresh("after_if", s.at);
  const block_id no = s.has_else ? fresh("else", s.at) : after;
  const std::uint32_t mark = top_;
  lower_condition(s, yes, no);
  lower_block(s.body);
  if (open()) leave_to(mark, s.at);
  top_ = mark;
  go(after);
  if (s.has_else) {
    at_ = no;
    lower_block(s.else_body);
    go(after);
  }
  at_ = after;
}

void lowering::lower_match(const stmt& s) {
  const std::uint32_t mark = top_;
  const type* const t = s.a->final_type();
  value subject = safe(lower(*s.a), s.at);
  if (top_ != mark || t->is(kind::view)) {
    const var_id tmp = add_temp(t, s.at);
    note_value_views(tmp, subject);
    set(slot_value(tmp), std::move(subject), s.at);
    subject = slot_value(tmp);
  }
  // The owner of a text is compared first, so it lives to the end of the case.
  if (!t->is(kind::view)) {
    if (open() && top_ != mark) leave_to(mark, s.at);
    top_ = mark;
  }
  const std::uint32_t inner = top_;
  const block_id after = fresh("after_match", s.at);
  choose_tail choice{std::move(subject), {}, {}};
  std::vector<block_id> next;
  block_id otherwise = no_id;
  std::vector<std::pair<block_id, const match_arm*>> arms;
  for (const match_arm& a : s.arms) {
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
  finish(s.at, std::move(next), std::move(choice));
  for (const auto& [to, arm] : arms) {
    at_ = to;
    top_ = inner;
    lower_block(arm->body);
    if (open() && top_ != mark) leave_to(mark, s.at);
    top_ = mark;
    go(after);
  }
  at_ = after;
}

void lowering::lower_any(const stmt& s) {
  const std::uint32_t mark = top_;
  const block_id ask = fresh("any", s.at);
  const block_id after = fresh("after_any", s.at);
  const var_id won = add_slot("won_" + line_text(s.at), types_.basic(kind::u32), s.at);
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
  for (const any_arm& a : s.any_arms) {
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
  finish(s.at, std::move(next), std::move(choice));
  const block_id failed = fresh("any_failed", s.at);
  for (std::size_t n = 0; n != arms.size(); ++n) {
    at_ = arms[n].to;
    top_ = inner;
    // A send arm has given its value away; a failed one has dropped it.
    if (waits[n].builtin->params.find("take ") != std::string_view::npos)
      for (const passed& a : waits[n].args)
        if (a.by_address) add(s.at, clear_instr{a.what.slot});
    check_status(failed, arms[n].arm->at);
    if (arms[n].result != no_id) {
      const var_id id = arms[n].result;
      if (arms[n].arm->var != nullptr) context_->names[arms[n].arm->var] = id;
      if (arms[n].arm->kind == any_arm::form::wait)
        note_call_views(arms[n].arm->what->as<call_expr>(), id);
      if (flow_.slots[id].type->needs_release()) push_release(id);
    }
    lower_block(arms[n].arm->body);
    if (open()) leave_to(mark, s.at);
    top_ = mark;
    go(after);
  }
  at_ = failed;
  top_ = inner;
  if (otherwise != nullptr) {
    declare_error(*otherwise->var, s.at);
    lower_block(otherwise->body);
    if (open()) leave_to(mark, s.at);
    top_ = mark;
    go(after);
  } else {
    go(unwind_to(top_));
  }
  top_ = mark;
  at_ = after;
}

}  // namespace heddle::draft
