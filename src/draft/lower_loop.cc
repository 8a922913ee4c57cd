// SPDX-License-Identifier: MIT
// Loops, and which of them may run long without a wait: those yield by their budget.
#include "draft/lowering.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// A counted loop of at most this many turns needs no budget.
constexpr __int128 free_turns_max = 65536;

/// Calls of calls that are looked through for a wait.
constexpr int call_depth_max = 4;

/// Every path through the block waits.
bool always_waits(const block& b, int depth = 0);
bool always_waits(const expr* e, int depth) {
  if (e == nullptr) return false;
  // A function that may wait does not do so each time.
  if (e->waits && e->kind == expr_kind::call && e->means == meaning::function &&
      !e->callee->decl->is_extern)
    return depth != call_depth_max && always_waits(e->callee->decl->body, depth + 1);
  if (e->waits) return true;
  switch (e->kind) {
    case expr_kind::try_:
    case expr_kind::unary:
    case expr_kind::member:
    case expr_kind::or_else:
      return always_waits(e->a.get(), depth);
    case expr_kind::call:
      for (const argument& a : e->args)
        if (always_waits(a.value.get(), depth)) return true;
      return false;
    default:
      return false;
  }
}
bool always_waits(const stmt& s, int depth) {
  switch (s.kind) {
    case stmt_kind::let:
    case stmt_kind::expression:
    case stmt_kind::return_:
      return always_waits(s.a.get(), depth);
    case stmt_kind::assign:
      return always_waits(s.b.get(), depth);
    case stmt_kind::any:
    case stmt_kind::wait:
      return true;
    case stmt_kind::scope:  // it may have no jobs
    case stmt_kind::within:
    case stmt_kind::shield:
    case stmt_kind::nowait:
      return always_waits(s.body, depth);
    case stmt_kind::if_:
      return always_waits(s.a.get(), depth) ||
             (s.has_else && always_waits(s.body, depth) && always_waits(s.else_body, depth));
    default:
      return false;
  }
}
bool always_waits(const block& b, int depth) {
  for (const stmt_ptr& s : b.body) {
    if (always_waits(*s, depth)) return true;
    // A `continue` before the wait would skip it, and in a function that is called a `return`.
    bool skips = false;
    walk(
        *s, [](const expr&) {},
        [&](const stmt& x) {
          skips |= x.kind == stmt_kind::continue_ ||
                   (depth != 0 && (x.kind == stmt_kind::return_ || x.kind == stmt_kind::fail));
        });
    if (skips) return false;
  }
  return false;
}

}  // namespace

void lowering::go_back(block_id head, bool yields, span at) {
  if (!open()) return;
  if (!yields || !flow_.has_frame) return go(head, at);
  const block_id wait = fresh("yield", at);
  go(wait);
  at_ = wait;
  tail t;
  t.op = tail_op::yield;
  t.at = at;
  t.next = {head};
  finish(std::move(t));
}

void lowering::lower_loop(const stmt& s) {
  const bool is_while = s.kind == stmt_kind::while_;
  const bool yields = !always_waits(s.body) && !(is_while && always_waits(s.a.get(), 0));
  const block_id head = fresh(is_while ? "while" : "loop", s.at);
  const block_id after = fresh("after_loop", s.at);
  // `continue` takes the way by the budget too.
  const block_id back = yields && flow_.has_frame ? fresh("again", s.at) : head;
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
  const bool ranged = s.a->kind == expr_kind::range;
  value over;
  value first = constant_value(integer, 0), last;
  if (ranged) {
    if (s.a->a) first = lower(*s.a->a);
    last = lower(*s.a->b);
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
  const bool bounded =
      first.is_constant() && last.is_constant() && last.number - first.number <= free_turns_max;
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
    instr i;
    i.op = instr_op::set;
    i.at = s.at;
    i.place = slot_value(id);
    i.has_place = true;
    i.args.push_back(std::move(v));
    i.by_address.push_back(false);
    add(std::move(i));
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
  go_back(head, !bounded && !always_waits(s.body), s.at);
  at_ = after;
  // A value made for the loop ends with it.
  if (top_ != outer) leave_to(outer, s.at);
  top_ = outer;
}

}  // namespace heddle::draft
