// SPDX-License-Identifier: MIT
// The statement `wait`: each `event(x)` in it has a rendezvous of its own. At the end of the block
// the values of their events are joined, one rendezvous after the other, and become those of the
// variables. Leaving the block earlier releases the rendezvous, and later triggers drop their
// values.
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

void lowering::lower_wait(const wait_stmt& x, span at) {
  const std::uint32_t mark = top_;
  std::vector<std::pair<const expr*, var_id>> made;
  for (const expr* e : x.events) {
    const type* const of = e->as<call_expr>().op_type;
    const type* const t = types_.generic(kind::rendezvous, of);
    const var_id id = add_slot("events_" + line_text(e->at), t, e->at);
    add(e->at, clear_instr{id});
    push_release(id);
    add(e->at, operation_call{
                   {{}, id, true}, &operation_of(operation_id::make_rendezvous), std::nullopt, of});
    check_status(unwind_to(top_), e->at);
    context_->events[e] = id;
    made.emplace_back(e, id);
  }
  lower_block(x.body);
  for (const auto& [e, id] : made) join_events(*e, id);
  if (open()) leave_to(mark, at);
  top_ = mark;
}

void lowering::lower_event(const expr& e, const call_expr& x, var_id into) {
  add(e.at, operation_call{{{}, result_slot(e.type, into, e.at), true},
                           find_operation(receiver::rendezvous, "event"),
                           value_of(context_->events.at(&e)),
                           x.op_type});
  check_status(unwind_to(top_), e.at);
}

/// Waits until no event of the rendezvous is left; each value becomes that of the variable.
void lowering::join_events(const expr& made, var_id rendezvous) {
  if (!open()) return;
  const span at = made.at;
  const call_expr& event = made.as<call_expr>();
  // `got` holds something only between an answer and the store.
  const var_id got = add_temp(event.op_type, at);
  const block_id ask = fresh("join", at);
  const block_id answered = fresh("joined", at);
  const block_id store_it = fresh("event", at);
  const block_id stopped = fresh("no_event", at);
  const block_id after = fresh("after_wait", at);
  go(ask);
  at_ = ask;
  finish(at, {answered},
         wait_tail{{{{}, got, true},
                    find_operation(receiver::rendezvous, "join"),
                    value_of(rendezvous),
                    event.op_type}});
  flow_.has_wait = true;
  at_ = answered;
  finish(at, {store_it, stopped}, check_tail{});
  at_ = store_it;
  const value place = variable_value(*event.args[0].value->local());
  if (place.type->needs_release()) {
    const var_id old = add_temp(place.type, at);
    set(value_of(old), place, at);
    add(at, release_instr{old});
  }
  set(place, make(place.type, wrap_value{value_of(got)}), at);
  go(ask);
  at_ = stopped;
  branch(status_is("HEDDLE_EOF"), after, unwind_to(top_), at);
  at_ = after;
}

}  // namespace heddle::draft
