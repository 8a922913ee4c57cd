// SPDX-License-Identifier: MIT
// Cleanups: the code that runs when control leaves a block, on the ordinary way out and after an
// error.
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

std::uint32_t lowering::push(cleanup c) {
  c.parent = top_;
  cleanups_.push_back(c);
  top_ = static_cast<std::uint32_t>(cleanups_.size() - 1);
  return top_;
}

void lowering::push_release(var_id slot) {
  cleanup c{};
  c.op = cleanup_op::release;
  c.slot = slot;
  c.at = flow_.slots[slot].at;
  push(c);
}

var_id lowering::result_slot(const type* t, var_id into, span at) {
  if (t->is(kind::void_)) return no_id;
  if (into != no_id) return into;
  const var_id made = add_temp(t, at);
  if (t->needs_release()) {
    add(at, clear_instr{made});
    push_release(made);
  }
  return made;
}

void lowering::declare_error(const variable& v, span at) {
  const var_id id = declare(v);
  value code = make(types_.basic(kind::error), error_value{value_of(flow_.status)});
  set(value_of(id), std::move(code), at);
}

void lowering::perform(const cleanup& c, bool early, bool cancels) {
  switch (c.op) {
    case cleanup_op::release:
      add(c.at, release_instr{c.slot});
      return;
    case cleanup_op::within:
      add(c.at, close_within{c.slot});
      return;
    case cleanup_op::shield:
      add(c.at, close_shield{c.slot});
      return;
    case cleanup_op::scope: {
      const var_id kept = early ? add_temp(types_.basic(kind::i64), c.at) : no_id;
      if (early) set(value_of(kept), value_of(flow_.status), c.at);
      const block_id wait = fresh("leave_scope", c.at);
      const block_id next = fresh("left_scope", c.at);
      go(wait);
      at_ = wait;
      finish(c.at, {next}, leave_tail{c.slot, cancels});
      at_ = next;
      if (early) set(value_of(flow_.status), value_of(kept), c.at);
      return;
    }
    case cleanup_op::defer: {
      // The status with which the block is left survives the deferred code.
      const var_id kept = early ? add_temp(types_.basic(kind::i64), c.at) : no_id;
      if (early) set(value_of(kept), value_of(flow_.status), c.at);
      if (c.deferred->value) {
        lower_effects(*c.deferred->value);
      } else {
        lower_block(c.deferred->body);
      }
      if (early && open()) set(value_of(flow_.status), value_of(kept), c.at);
      return;
    }
  }
}

block_id lowering::unwind_to(std::uint32_t node) {
  if (node == context_->base) return context_->end;
  if (cleanups_[node].unwind != no_id) return cleanups_[node].unwind;
  const char* const what = cleanups_[node].op == cleanup_op::release  ? "drop_"
                           : cleanups_[node].op == cleanup_op::within ? "end_within_"
                           : cleanups_[node].op == cleanup_op::scope  ? "cancel_scope_"
                           : cleanups_[node].op == cleanup_op::shield ? "end_shield_"
                                                                      : "defer_";
  std::string name = what;
  name += cleanups_[node].op == cleanup_op::release ? flow_.slots[cleanups_[node].slot].name
                                                    : line_text(cleanups_[node].at);
  const block_id made = fresh(std::move(name));
  cleanups_[node].unwind = made;
  const block_id here = std::exchange(at_, made);
  const std::uint32_t top = std::exchange(top_, cleanups_[node].parent);
  const cleanup c = cleanups_[node];
  perform(c, true, true);
  if (open()) go(unwind_to(c.parent));
  at_ = here;
  top_ = top;
  return made;
}

void lowering::unwind_inline(std::uint32_t mark, bool jumps) {
  const std::uint32_t top = top_;
  while (top_ != mark && top_ != no_id && open()) {
    const cleanup c = cleanups_[top_];
    top_ = c.parent;
    perform(c, false, jumps);
  }
  top_ = top;
}

void lowering::check_status(block_id failed, span at, const char* name) {
  if (!open()) return;
  const block_id next = fresh(name, at);
  finish(at, {next, failed}, check_tail{});
  at_ = next;
}

block_id lowering::failed_block(const failure& f, span at) {
  if (f.to == no_id) return unwind_to(top_);
  if (f.mark == top_) return f.to;
  // Temporaries of the call end before the handler.
  const block_id made = fresh("failed", at);
  const block_id here = std::exchange(at_, made);
  unwind_inline(f.mark, true);
  go(f.to, at);
  at_ = here;
  return made;
}

void lowering::split_faults(const failure& on_error, span at) {
  const block_id out = unwind_to(top_);
  if (on_error.to == no_id || on_error.to == out) return check_status(out, at);
  const block_id failed = fresh("failed", at);
  check_status(failed, at);
  const block_id here = std::exchange(at_, failed);
  branch(status_is("HEDDLE_FAULT"), out, failed_block(on_error, at), at);
  at_ = here;
}

}  // namespace heddle::draft
