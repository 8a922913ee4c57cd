// SPDX-License-Identifier: MIT
// Calls of functions: plain, foreign, in a frame of their own, merged into the caller, spawned.
#include <utility>

#include "draft/lowering.hh"
#include "draft/own_graph.hh"

namespace heddle::draft {

void lowering::lower_call(const expr& e, var_id into, const failure& on_error) {
  if (const try_expr* const t = e.get<try_expr>()) return lower_call(*t->of, into, failure{});
  const call_expr* const call = e.get<call_expr>();
  if (call != nullptr && call->op != nullptr) return lower_operation(e, *call, into, on_error);
  if (call != nullptr && call->callee != nullptr)
    return lower_function_call(e, *call, into, on_error);
  if (e.means == meaning::action) return lower_action(e, *call->action(), into, on_error);
  if (into == no_id) return lower_effects(e);
  if (call != nullptr)
    store_made(value_of(into), e, on_error);
  else
    store(value_of(into), e);
}

void lowering::add_arguments(call_parts& c, const call_expr& call, const function& f,
                             bool into_frame, bool waits) {
  std::vector<const expr*> list;
  for (const argument& a : call.args) list.push_back(a.value.get());
  for (std::size_t n = 0; n != call.args.size(); ++n) {
    const param& p = f.decl->params[n];
    const expr& a = *call.args[n].value;
    const type* const t = p.var->type;
    if (p.how == passing::change) {
      value place = lower_place(a);
      c.pass(std::move(place), true);
      continue;
    }
    const bool moves = p.how == passing::take || (f.is_thread() && t->is_owned());
    // A record is borrowed where it lies, unless a thread or a job gets it.
    const bool counts =
        into_frame && t->owning == owning::counted && (f.copies_values() || !t->by_address());
    if (moves || counts) {
      const var_id tmp = store_temp(a, t);
      c.pass(value_of(tmp));
      moved_.push_back(tmp);
      continue;
    }
    value v = lower_argument(a, waits);
    const bool later = effects_follow(list, n);
    const bool address = t->by_address() && !f.copies_values();
    const bool place = v.is<slot_value, field_value, element_value>();
    if ((later && !v.is<number_value, text_value>() && t->owning == owning::value) ||
        (address && !place)) {
      const var_id tmp = add_temp(t, a.at);
      set(value_of(tmp), std::move(v), a.at);
      v = value_of(tmp);
    }
    c.pass(std::move(v), address);
  }
}

void lowering::lower_function_call(const expr& e, const call_expr& x, var_id into,
                                   const failure& on_error) {
  function& f = *x.callee;
  if (f.form == function_form::merged) return lower_merged(e, x, into, on_error);
  const std::uint32_t mark = top_;
  function_call call;
  call.callee = &f;
  moved_.clear();
  const bool apart = f.form == function_form::apart;
  add_arguments(call, x, f, apart, apart || f.decl->is_blocking());
  const std::vector<var_id> moved = std::move(moved_);
  moved_ = {};
  call.result = result_slot(f.result, into, e.at);
  if (apart || f.decl->is_blocking()) {
    call.sets_status = true;
    const block_id wait = fresh(f.name.c_str(), e.at);
    const block_id next = fresh("got", e.at);
    if (apart) {
      // The frame is made first, so that the wait has no arguments; its address is kept.
      frame_call frame{{std::move(call.args), add_slot("call_" + f.name, frame_type(), e.at), true},
                       &f};
      for (const passed& a : frame.args)
        each_slot(a.what, [&](var_id from, char) { views_.emplace_back(frame.result, from); });
      call.args = {{value_of(frame.result)}};
      add(e.at, std::move(frame));
      for (const var_id t : moved) add(e.at, clear_instr{t});
      check_status(failed_block(on_error, e.at), e.at);
      go(wait);
      at_ = wait;
      finish(e.at, {next}, call_tail{std::move(call)});
    } else {
      go(wait);
      at_ = wait;
      finish(e.at, {next}, pool_tail{std::move(call)});
      flow_.has_wait = true;
    }
    at_ = next;
    if (apart && !f.fallible()) {
      // Only a fault or a cancelled frame: both leave.
      check_status(unwind_to(top_), e.at);
    } else if (apart) {
      split_faults(on_error, e.at);
    } else {
      check_status(unwind_to(top_), e.at);
    }
  } else {
    const bool status =
        f.form == function_form::plain && (f.fallible() || f.may_fault || f.recursive);
    call.sets_status = status;
    add(e.at, std::move(call));
    for (const var_id t : moved) add(e.at, clear_instr{t});
    if (status) {
      if (f.may_fault || f.recursive) flow_.may_fault = true;
      if (f.fallible()) {
        if (f.may_fault || f.recursive)
          split_faults(on_error, e.at);
        else
          check_status(failed_block(on_error, e.at), e.at);
      } else {
        check_status(unwind_to(top_), e.at);
      }
    }
  }
  if (top_ != mark && into != no_id) leave_to(mark, e.at);
}

void lowering::lower_spawn(const expr& e, const spawn_expr& x, var_id into) {
  const std::uint32_t mark = top_;
  const call_expr& call = x.call->as<call_expr>();
  function& f = *call.callee;
  spawn_call made;
  made.callee = &f;
  moved_.clear();
  value color;
  if (x.color) {
    color = safe(lower(*x.color), e.at);
    // The connection moves into the thread; its number is read before.
    if (color.type->is(kind::conn))
      color = make(types_.basic(kind::i64), property_value{"heddle_conn_number", color});
    const var_id tmp = add_temp(types_.basic(kind::i64), e.at);
    set(value_of(tmp), std::move(color), e.at);
    color = value_of(tmp);
  }
  add_arguments(made, call, f, true, false);
  const std::vector<var_id> moved = std::move(moved_);
  moved_ = {};
  if (x.color) {
    made.pass(std::move(color));
    made.has_color = true;
  }
  made.result = into;
  made.of = f.result;
  if (!context_->scopes.empty()) {
    made.scope = context_->scopes.back();
    // Values that the job borrows keep their place until the scope has ended.
    for (const passed& a : made.args)
      each_slot(a.what, [&](var_id from, char) { views_.emplace_back(made.scope, from); });
  }
  add(e.at, std::move(made));
  for (const var_id t : moved) add(e.at, clear_instr{t});
  if (open()) leave_to(mark, e.at);
  top_ = mark;
}

}  // namespace heddle::draft
