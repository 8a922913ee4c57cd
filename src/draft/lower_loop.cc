// SPDX-License-Identifier: MIT
// Loops. A loop that may run long without a wait yields by its budget: budget.cc.
#include "draft/lowering.hh"

namespace heddle::draft {

void lowering::go_back(block_id head, bool yields, span at) {
  if (!open()) return;
  if (!yields || !flow_.has_frame) return go(head, at);
  const block_id wait = fresh("yield", at);
  go(wait);
  at_ = wait;
  finish(at, {head}, yield_tail{});
}

void lowering::lower_loop(const block& b, const condition* when, bool yields, span at) {
  const block_id head = fresh(when != nullptr ? "while" : "loop", at);
  const block_id after = fresh("after_loop", at);
  // `continue` takes the way by the budget too.
  const block_id back = yields && flow_.has_frame ? fresh("again", at) : head;
  go(head);
  at_ = head;
  const std::uint32_t mark = top_;
  context_->loops.push_back({back, after, mark});
  if (when != nullptr) {
    const block_id body = fresh("body", at);
    lower_condition(*when, body, after, at);
  }
  lower_block(b);
  if (open()) leave_to(mark, at);
  top_ = mark;
  context_->loops.pop_back();
  go(back);
  if (back != head) {
    at_ = back;
    go_back(head, true, at);
  }
  at_ = after;
}

void lowering::lower_for(const for_stmt& x, span at) {
  const std::uint32_t outer = top_;
  const type* const integer = types_.basic(kind::i64);
  const range_expr* const range = x.over->get<range_expr>();
  const bool ranged = range != nullptr;
  value over;
  value first = make_number(integer, 0), last;
  if (ranged) {
    if (range->from) first = lower(*range->from);
    last = lower(*range->to);
  } else if (x.over->type->is(kind::array)) {
    over = lower_place(*x.over);
    last = make_number(integer, static_cast<__int128>(x.over->type->count));
  } else {
    over = safe(lower(*x.over), at);
    const var_id tmp = add_temp(over.type, at);
    note_value_views(tmp, over);
    set(value_of(tmp), std::move(over), at);
    over = value_of(tmp);
    last = make(integer, property_value{"heddle_view_len", over});
  }
  const var_id index = add_slot(
      ranged || x.second_var != nullptr ? std::string(x.name) : "at_" + line_text(at), integer, at);
  set(value_of(index), std::move(first), at);
  value end = last;
  if (!last.is<number_value>()) {
    const var_id tmp = add_slot("end_" + line_text(at), integer, at, true);
    set(value_of(tmp), std::move(last), at);
    end = value_of(tmp);
  }
  const block_id head = fresh("for", at);
  const block_id body = fresh("body", at);
  const block_id step = fresh("next", at);
  const block_id after = fresh("after_for", at);
  go(head);
  at_ = head;
  branch(make(types_.basic(kind::boolean), binary_value{word::s_lt, value_of(index), end}), body,
         after, at);
  at_ = body;
  const std::uint32_t mark = top_;
  context_->loops.push_back({step, after, mark});
  // The variable is a copy: the loop counts by itself.
  if (ranged || x.second_var != nullptr) {
    context_->names[x.var] = index;
  }
  if (!ranged) {
    const variable& element = x.second_var != nullptr ? *x.second_var : *x.var;
    const var_id id = declare(element);
    value v = over.type->is(kind::array)
                  ? make(element.type, element_value{over, value_of(index), true})
                  : make(element.type, byte_value{over, value_of(index), true});
    add(at, set_instr{value_of(id), std::move(v)});
  }
  lower_block(x.body);
  context_->loops.pop_back();
  go(step);
  at_ = step;
  set(value_of(index),
      make(integer, binary_value{word::s_add_wrap, value_of(index), make_number(integer, 1)}), at);
  go_back(head, x.yields, at);
  at_ = after;
  // A value made for the loop ends with it.
  if (top_ != outer) leave_to(outer, at);
  top_ = outer;
}

}  // namespace heddle::draft
