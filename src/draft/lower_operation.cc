// SPDX-License-Identifier: MIT
// Calls of built-in operations.
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

operation_call lowering::make_operation(const call_expr& e, bool waits) {
  const operation& op = *e.op;
  const bool prints = op.params == "...";
  operation_call c;
  c.builtin = &op;
  c.of = e.op_type;
  c.sets_status = op.fallible;
  if (const expr* const receiver = e.receiver()) {
    const expr& on = *receiver;
    if (on.is<text_expr>()) {
      c.on = lower(on);
    } else {
      value place = lower_place(on);
      if (place.may_fault()) place = safe(std::move(place), on.at);
      c.on =
          op.changes || op.consumes || waits ? std::move(place) : as_receiver(std::move(place), op);
      if (waits) c.on = stable(std::move(*c.on), on.at);
    }
  }
  std::vector<const expr*> list;
  for (const argument& a : e.args) list.push_back(a.value.get());
  const auto params = prints ? std::vector<operation_param>() : params_of(op);
  for (std::size_t n = 0; n != list.size(); ++n) {
    const passing how = n < params.size() ? params[n].how : passing::borrow;
    if (how == passing::change) {
      c.pass(lower_place(*list[n]));  // a buffer is its own address
    } else if (how == passing::take || (n < params.size() && params[n].type == "T")) {
      // The value moves through a temporary, whose address the operation gets.
      const var_id tmp = store_temp(*list[n], list[n]->final_type());
      c.pass(value_of(tmp), true);
    } else if (n < params.size() && params[n].type == "range") {
      const range_expr& range = list[n]->as<range_expr>();
      const type* const integer = types_.basic(kind::i64);
      c.pass(range.from ? lower_argument(*range.from, waits) : make_number(integer, 0));
      c.pass(range.to ? lower_argument(*range.to, waits) : make_number(integer, INT64_MAX));
    } else {
      // A buffer changes while it gets them one by one, and they may be read from it.
      value v = lower_argument(*list[n], waits || (prints && c.on));
      if (effects_follow(list, n) && !v.is<number_value, text_value>() &&
          v.type->owning == owning::value && !v.type->by_address()) {
        const var_id tmp = add_temp(v.type, list[n]->at);
        set(value_of(tmp), std::move(v), list[n]->at);
        v = value_of(tmp);
      }
      c.pass(std::move(v));
    }
  }
  return c;
}

value lowering::as_receiver(value place, const operation& op) {
  return op.on == receiver::view ? to_view(std::move(place)) : place;
}

void lowering::lower_operation(const expr& e, const call_expr& x, var_id into,
                               const failure& on_error) {
  const operation& op = *x.op;
  if (op.id == operation_id::event_of_wait) return lower_event(e, x, into);
  const std::uint32_t mark = top_;
  operation_call c = make_operation(x, op.waits);
  if (!op.result.empty() || op.on == receiver::job) c.result = result_slot(e.type, into, e.at);
  const bool fallible = op.fallible;
  const bool consumes = op.consumes;
  const var_id receiver = consumes ? c.on->slot() : no_id;
  std::vector<var_id> taken;
  for (const passed& a : c.args)
    if (a.by_address && op.params.find("take ") != std::string_view::npos)
      taken.push_back(a.what.slot());
  if (op.waits) {
    const block_id wait = fresh(std::string(op.name).c_str(), e.at);
    const block_id next = fresh("got", e.at);
    go(wait, e.at);
    at_ = wait;
    finish(e.at, {next}, wait_tail{std::move(c)});
    at_ = next;
    flow_.has_wait |= !op.waits_in_receiver();
  } else {
    if (op.params == "...")
      add(e.at, print_call{std::move(c)});
    else
      add(e.at, std::move(c));
    if (op.may_fault) check_fault(e.at);
  }
  // The operation took them, or dropped them when it failed.
  for (const var_id t : taken) add(e.at, clear_instr{t});
  if (receiver != no_id) add(e.at, clear_instr{receiver});
  if (fallible) check_status(failed_block(on_error, e.at), e.at);
  if (into != no_id) note_call_views(x, into);
  if (top_ != mark && into != no_id) {
    // Temporaries of the arguments end here; the statement's end would be too late for loops.
    leave_to(mark, e.at);
  }
}

void lowering::note_call_views(const call_expr& x, var_id into) {
  if (flow_.slots[into].type->owning != owning::borrowed) return;
  const auto note = [&](const expr& e) {
    each_slot(lower_place(e), [&](var_id from, char) { views_.emplace_back(into, from); });
  };
  if (const expr* const on = x.receiver(); on != nullptr && x.op->looks_into) note(*on);
  if (x.op->looks_into_arg >= 0)
    note(*x.args[static_cast<std::size_t>(x.op->looks_into_arg)].value);
}

const operation& lowering::text_set_operation() {
  static const operation op{.on = receiver::text,
                            .name = "set",
                            .id = operation_id::set_text,
                            .params = "what: view",
                            .result = "",
                            .fallible = true,
                            .c_name = "heddle_text_set",
                            .help = ""};
  return op;
}

}  // namespace heddle::draft
