// SPDX-License-Identifier: MIT
// Calls of built-in operations.
#include <utility>

#include "draft/lowering.hh"

namespace heddle::draft {

instr lowering::operation_instr(const expr& e, bool waits) {
  const operation& op = *e.op_info;
  instr i;
  i.op = op.params == "..." ? instr_op::print : instr_op::call;
  i.at = e.at;
  i.builtin = &op;
  i.of = e.op_type;
  i.sets_status = op.fallible;
  if (is_method(e)) {
    const expr& on = *e.a->a;
    i.has_place = true;
    if (on.kind == expr_kind::text) {
      i.place = lower(on);
    } else {
      value place = lower_place(on);
      if (place.may_fault()) place = safe(std::move(place), on.at);
      i.place =
          op.changes || op.consumes || waits ? std::move(place) : as_receiver(std::move(place), op);
      if (waits) i.place = stable(std::move(i.place), on.at);
    }
  }
  std::vector<const expr*> list;
  for (const argument& a : e.args) list.push_back(a.value.get());
  const auto params = op.params == "..." ? std::vector<operation_param>() : params_of(op);
  for (std::size_t n = 0; n != list.size(); ++n) {
    const passing how = n < params.size() ? params[n].how : passing::borrow;
    if (how == passing::change) {
      i.args.push_back(lower_place(*list[n]));
      i.by_address.push_back(false);  // a buffer is its own address
    } else if (how == passing::take || (n < params.size() && params[n].type == "T")) {
      // The value moves through a temporary, whose address the operation gets.
      const var_id tmp = store_temp(*list[n], list[n]->to != nullptr ? list[n]->to : list[n]->type);
      i.args.push_back(slot_value(tmp));
      i.by_address.push_back(true);
    } else if (n < params.size() && params[n].type == "range") {
      const expr& range = *list[n];
      const type* const integer = types_.basic(kind::i64);
      i.args.push_back(range.a ? lower_argument(*range.a, waits) : constant_value(integer, 0));
      i.args.push_back(range.b ? lower_argument(*range.b, waits)
                               : constant_value(integer, INT64_MAX));
      i.by_address.push_back(false);
      i.by_address.push_back(false);
    } else {
      // A buffer changes while it gets them one by one, and they may be read from it.
      value v = lower_argument(*list[n], waits || (i.op == instr_op::print && i.has_place));
      if (effects_follow(list, n) && !v.is_constant() && v.op != value_op::text &&
          v.type->owning == owning::value && !v.type->by_address()) {
        const var_id tmp = add_temp(v.type, list[n]->at);
        set(slot_value(tmp), std::move(v), list[n]->at);
        v = slot_value(tmp);
      }
      i.args.push_back(std::move(v));
      i.by_address.push_back(false);
    }
  }
  return i;
}

value lowering::as_receiver(value place, const operation& op) {
  if (op.on == receiver::view && !place.type->is(kind::view)) {
    value v = make(value_op::view_of, types_.basic(kind::view), {});
    v.kids.push_back(std::move(place));
    return v;
  }
  return place;
}

void lowering::lower_operation(const expr& e, var_id into, const failure& on_error) {
  const operation& op = *e.op_info;
  if (op.id == operation_id::event_of_wait) return lower_event(e, into);
  const std::uint32_t mark = top_;
  instr i = operation_instr(e, op.waits);
  if (!op.result.empty() || op.on == receiver::job) i.result = result_slot(e.type, into, e.at);
  const bool fallible = op.fallible;
  const bool consumes = op.consumes;
  const var_id receiver = consumes && i.place.op == value_op::slot ? i.place.slot : no_id;
  std::vector<var_id> taken;
  for (std::size_t n = 0; n != i.args.size(); ++n)
    if (i.by_address[n] && !op.params.empty() && op.params.find("take ") != std::string_view::npos)
      taken.push_back(i.args[n].slot);
  if (op.waits) {
    const block_id wait = fresh(std::string(op.name).c_str(), e.at);
    const block_id next = fresh("got", e.at);
    go(wait, e.at);
    at_ = wait;
    finish({e.at, {next}, wait_tail{std::move(i)}});
    at_ = next;
    flow_.has_wait = true;
  } else {
    add(std::move(i));
    if (may_fault(op)) check_fault(e.at);
  }
  // The operation took them, or dropped them when it failed.
  for (const var_id t : taken) simple(instr_op::clear, t, e.at);
  if (receiver != no_id) simple(instr_op::clear, receiver, e.at);
  if (fallible) check_status(failed_block(on_error, e.at), e.at);
  if (into != no_id) note_call_views(e, into);
  if (top_ != mark && into != no_id) {
    // Temporaries of the arguments end here; the statement's end would be too late for loops.
    leave_to(mark, e.at);
  }
}

void lowering::note_call_views(const expr& e, var_id into) {
  if (flow_.slots[into].type->owning != owning::borrowed) return;
  if (e.op_info->looks_into && is_method(e)) {
    const value place = lower_place(*e.a->a);
    each_slot(place, [&](var_id from, char) { views_.emplace_back(into, from); });
  }
  if (e.op_info->looks_into_arg >= 0) {
    const value place =
        lower_place(*e.args[static_cast<std::size_t>(e.op_info->looks_into_arg)].value);
    each_slot(place, [&](var_id from, char) { views_.emplace_back(into, from); });
  }
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
