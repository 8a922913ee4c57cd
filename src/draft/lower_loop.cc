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

void lowering::lower_loop(const stmt& s) {
  const bool is_while = s.kind == stmt_kind::while_;
  const block_id head = fresh(is_while ? "while" : "loop", s.at);
  const block_id after = fresh("after_loop", s.at);
  // `continue` takes the way by the budget too.
  const block_id back = s.yields && flow_.has_frame ? fresh("again", s.at) : head;
  go(head);
  at_ = head;
  const std::uint32_t mark = top_;
  context_->loops.push_back({back, after, mark});
  if (is_while) {
    const block_id body = fresh("body", s.at);
    lower_condition(s, body, after);
  }
  lower_block(s.body);
  if (open()) leave_to(mark, s.at);
  top_ = mark;
  context_->loops.pop_back();
  go(back);
  if (back != head) {
    at_ = back;
    go_back(head, true, s.at);
  }
  at_ = after;
}

void lowering::lower_for(const stmt& s) {
  const std::uint32_t outer = top_;
  const type* const integer = types_.basic(kind::i64);
  const range_expr* const range = s.a->get<range_expr>();
  const bool ranged = range != nullptr;
  value over;
  value first = constant_value(integer, 0), last;
  if (ranged) {
    if (range->from) first = lower(*range->from);
    last = lower(*range->to);
  } else if (s.a->type->is(kind::array)) {
    over = lower_place(*s.a);
    last = constant_value(integer, static_cast<__int128>(s.a->type->count));
  } else {
    over = safe(lower(*s.a), s.at);
    const var_id tmp = add_temp(over.type, s.at);
    note_value_views(tmp, over);
    set(slot_value(tmp), std::move(over), s.at);
    over = slot_value(tmp);
    last = make(value_op::property, integer, {});
    last.text = "heddle_view_len";
    last.kids.push_back(over);
  }
  const var_id index =
      add_slot(ranged || s.second_var != nullptr ? std::string(s.name) : "at_" + line_text(s.at),
               integer, s.at);
  set(slot_value(index), std::move(first), s.at);
  value end = last;
  if (!last.is_constant()) {
    const var_id tmp = add_slot("end_" + line_text(s.at), integer, s.at, true);
    set(slot_value(tmp), std::move(last), s.at);
    end = slot_value(tmp);
  }
  const block_id head = fresh("for", s.at);
  const block_id body = fresh("body", s.at);
  const block_id step = fresh("next", s.at);
  const block_id after = fresh("after_for", s.at);
  go(head);
  at_ = head;
  value less = make(value_op::binary, types_.basic(kind::boolean), {});
  less.what = word::s_lt;
  less.kids.push_back(slot_value(index));
  less.kids.push_back(end);
  branch(std::move(less), body, after, s.at);
  at_ = body;
  const std::uint32_t mark = top_;
  context_->loops.push_back({step, after, mark});
  // The variable is a copy: the loop counts by itself.
  if (ranged || s.second_var != nullptr) {
    context_->names[s.var] = index;
  }
  if (!ranged) {
    const variable& element = s.second_var != nullptr ? *s.second_var : *s.var;
    const var_id id = declare(element);
    value v =
        make(s.a->type->is(kind::array) ? value_op::element : value_op::byte_at, element.type, {});
    v.index = 1;
    v.kids.push_back(over);
    v.kids.push_back(slot_value(index));
    if (v.op == value_op::byte_at) {
      v.op = value_op::property;
      v.text = "heddle_view_byte";
    }
    add(s.at, set_instr{slot_value(id), std::move(v)});
  }
  lower_block(s.body);
  context_->loops.pop_back();
  go(step);
  at_ = step;
  value more = make(value_op::binary, integer, {});
  more.what = word::s_add_wrap;
  more.kids.push_back(slot_value(index));
  more.kids.push_back(constant_value(integer, 1));
  set(slot_value(index), std::move(more), s.at);
  go_back(head, s.yields, s.at);
  at_ = after;
  // A value made for the loop ends with it.
  if (top_ != outer) leave_to(outer, s.at);
  top_ = outer;
}

}  // namespace heddle::draft
