// SPDX-License-Identifier: MIT
// Puts the value of an expression where it stays; counts and moves follow. Handlers of errors.
#include <utility>

#include "draft/lowering.hh"
#include "draft/own_graph.hh"
#include "draft/walk.hh"

namespace heddle::draft {

void lowering::lower_effects(const expr& e) {
  const std::uint32_t mark = top_;
  const try_expr* const tries = e.get<try_expr>();
  const spawn_expr* const spawns = e.get<spawn_expr>();
  if (tries != nullptr && tries->of->is<call_expr>()) {
    lower_call(*tries->of, no_id, failure{});
  } else if (tries != nullptr) {
    static_cast<void>(lower(*tries->of));
  } else if (e.is<call_expr>() && (e.means == meaning::operation || e.means == meaning::function ||
                                   e.means == meaning::action)) {
    lower_call(e, no_id, failure{});
  } else if (const or_expr* const x = e.get<or_expr>()) {
    lower_or(e, *x, no_id);
  } else if (spawns != nullptr && !spawns->call->as<call_expr>().callee->result->needs_release()) {
    lower_spawn(e, *spawns, no_id);
  } else {
    discard(e);  // a job releases its result if no join() takes it
  }
  if (open()) leave_to(mark, e.at);
  top_ = mark;
}

void lowering::discard(const expr& e) {
  const type* const t = e.final_type();
  if (t->is(kind::void_)) return;
  store_temp(e, t);
}

var_id lowering::store_temp(const expr& e, const type* t) {
  const var_id tmp = add_temp(t, e.at);
  add(e.at, clear_instr{tmp});
  if (t->needs_release()) push_release(tmp);
  store(value_of(tmp), e);
  return tmp;
}

void lowering::store(value place, const expr& e) {
  const bool calls = e.is<call_expr>() || e.is<try_expr>() || e.is<spawn_expr>();
  if (e.to != nullptr && e.type != e.to && calls) {
    // A call's result is converted on the way.
    const var_id tmp = add_temp(e.type, e.at);
    if (e.type->needs_release()) add(e.at, clear_instr{tmp});
    store_made(value_of(tmp), e, failure{});
    move_into(std::move(place), converted(value_of(tmp), e.to), tmp, e.at);
    return;
  }
  if (calls || e.is<list_expr>() || e.is<or_expr>())
    return store_made(std::move(place), e, failure{});
  if (const move_expr* const x = e.get<move_expr>()) {
    value from = variable_value(*x->of->local());
    const var_id slot = from.slot();
    set(std::move(place), e.to != nullptr ? converted(std::move(from), e.to) : std::move(from),
        e.at);
    if (slot != no_id) add(e.at, clear_instr{slot});
    return;
  }
  const name_expr* const name = e.get<name_expr>();
  value from = lower(e);
  const type* const t = place.type;
  const var_id moved = name != nullptr && name->moves ? variable_value(*name->var).slot() : no_id;
  const value copy = place;
  set(std::move(place), std::move(from), e.at);
  if (moved != no_id) {
    add(e.at, clear_instr{moved});
  } else if (t->owning == owning::counted) {
    add(e.at, retain_instr{copy});
  }
}

void lowering::move_into(value place, value from, var_id tmp, span at) {
  set(std::move(place), std::move(from), at);
  if (flow_.slots[tmp].type->needs_release()) add(at, clear_instr{tmp});
}

void lowering::store_made(value place, const expr& e, const failure& on_error) {
  const bool direct =
      place.slot() != no_id && !flow_.slots[place.slot()].by_reference && place.type == e.type;
  if (const list_expr* const x = e.get<list_expr>()) {
    for (std::size_t i = 0; i != x->elements.size(); ++i) {
      value at = make(types_.basic(kind::i64), number_value{static_cast<__int128>(i)});
      store(make(e.type->of, element_value{place, std::move(at), true}), *x->elements[i].value);
    }
    return;
  }
  const call_expr* const call = e.get<call_expr>();
  const or_expr* const handles = e.get<or_expr>();
  const spawn_expr* const spawns = e.get<spawn_expr>();
  if (e.means == meaning::record) return store_record(std::move(place), e, *call);
  if (e.means == meaning::conversion) return store_conversion(std::move(place), e, *call, on_error);
  const bool calls = call != nullptr || e.is<try_expr>();
  if (!calls && handles == nullptr && spawns == nullptr) return store(std::move(place), e);
  if (direct && calls) return lower_call(e, place.slot(), on_error);
  if (direct && handles != nullptr) return lower_or(e, *handles, place.slot());
  if (direct) return lower_spawn(e, *spawns, place.slot());
  const var_id tmp = add_temp(e.type, e.at);
  if (e.type->needs_release()) add(e.at, clear_instr{tmp});
  store_made(value_of(tmp), e, on_error);
  value from = value_of(tmp);
  if (e.to != nullptr && e.to != e.type) from = converted(std::move(from), e.to);
  move_into(std::move(place), std::move(from), tmp, e.at);
}

void lowering::store_record(value place, const expr& e, const call_expr& call) {
  const bool whole = place.slot() != no_id;
  value target = place;
  var_id tmp = no_id;
  // Made apart: `q = request(x: q.x + 1)` reads the old record while the new one is made.
  bool apart = !whole;
  if (whole) {
    walk(
        e,
        [&](const expr& x) {
          if (x.local() == nullptr || x.local()->type->is(kind::action)) return;
          apart |= variable_value(*x.local()).slot() == place.slot();
        },
        [](const stmt&) {});
  }
  // If a later field may fail, the fields that are made already need an owner.
  bool owns = false;
  for (const argument& a : call.args) {
    if (!a.value) continue;
    apart |= owns && contains_effects(*a.value);
    owns |= a.value->type->needs_release();
  }
  if (apart) {
    tmp = add_temp(e.type, e.at);
    target = value_of(tmp);
  }
  set(target, make(e.type, empty_value{}), e.at);
  const std::uint32_t mark = top_;
  if (e.type->needs_release() && target.slot() != no_id && tmp != no_id) push_release(tmp);
  const auto& parts = e.type->record->parts;
  for (std::size_t i = 0; i != parts.size(); ++i) {
    if (i >= call.args.size() || !call.args[i].value) continue;
    store(make(parts[i].type, field_value{target, i}), *call.args[i].value);
  }
  if (tmp != no_id) {
    move_into(std::move(place), value_of(tmp), tmp, e.at);
    top_ = mark;
  }
}

void lowering::store_conversion(value place, const expr& e, const call_expr& call,
                                const failure& on_error) {
  const expr& x = *call.args.at(0).value;
  const type* const t = e.type;
  if (t->is(kind::text)) {
    operation_call c{{{}, no_id, true}, &text_set_operation(), std::move(place), nullptr};
    c.pass(safe(to_view(lower(x)), x.at));
    add(e.at, std::move(c));
    if (e.fallible || !x.is<text_expr>()) check_status(failed_block(on_error, e.at), e.at);
    return;
  }
  if (t->is(kind::bytes)) return store(std::move(place), x);
  // An enum is its integer, a duration is int.
  const type* const from = x.type->is(kind::enumeration) ? x.type->values->base : x.type;
  const type* const as = t->is(kind::duration) ? types_.basic(kind::i64) : t;
  const bool fits = !from->is_integer() ? from->is(kind::boolean)
                    : from->is_signed() == as->is_signed()
                        ? from->bits() <= as->bits()
                        : as->is_signed() && from->bits() < as->bits();
  set(std::move(place), make(t, convert_value{lower(x), !fits}), e.at);
}

void lowering::lower_or(const expr& e, const or_expr& x, var_id into) {
  const block_id after = fresh("after", e.at);
  const block_id failed = fresh("failed", e.at);
  const std::uint32_t mark = top_;
  if (x.of_optional) {
    const type* const t = x.of->type;
    const var_id tmp = add_temp(t, e.at);
    if (t->needs_release()) add(e.at, clear_instr{tmp});
    store(value_of(tmp), *x.of);
    const block_id held = fresh("held", e.at);
    branch(make(types_.basic(kind::boolean), has_value{value_of(tmp)}), held, failed, e.at);
    at_ = held;
    if (into != no_id) {
      value v = make(t->of, held_value{value_of(tmp)});
      note_value_views(into, v);
      set(value_of(into), std::move(v), e.at);
    } else if (t->needs_release()) {
      add(e.at, release_instr{tmp});
    }
  } else if (x.of->is<call_expr>() || x.of->is<try_expr>()) {
    failure f;
    f.to = failed;
    f.mark = mark;
    lower_call(*x.of, into, f);
  } else if (into != no_id) {
    store(value_of(into), *x.of);
  }
  if (open()) leave_to(mark, e.at);
  top_ = mark;
  go(after);
  at_ = failed;
  lower_handler(x, into, e.at);
  if (open()) leave_to(mark, e.at);
  top_ = mark;
  go(after);
  at_ = after;
}

void lowering::lower_handler(const or_expr& x, var_id into, span at) {
  // Temporaries of the failed call: those that it made are null or hold what must be released.
  if (x.error_var != nullptr) declare_error(*x.error_var, at);
  if (x.jump) {
    lower_stmt(*x.jump);
  } else if (x.handler) {
    lower_block(*x.handler);
  } else if (x.otherwise && into != no_id) {
    store(value_of(into), *x.otherwise);
  } else if (x.otherwise) {
    lower_effects(*x.otherwise);
  }
}

void lowering::lower_let(const let_stmt& x, span at) {
  const variable& v = *x.var;
  const std::uint32_t mark = top_;
  const bool needs = v.type->needs_release();
  if (!x.value) {
    const var_id id = declare(v);
    add(at, clear_instr{id});
    if (needs) push_release(id);
    return;
  }
  // The value is made before the name is known.
  const var_id id = add_slot(v.name, v.type, v.at);
  if (needs) add(at, clear_instr{id});
  store_value(id, *x.value);
  context_->names[&v] = id;
  note_program_views(v, id);
  if (open() && top_ != mark) leave_to(mark, at);
  top_ = mark;
  if (needs) push_release(id);
}

void lowering::store_value(var_id id, const expr& e) {
  if (flow_.slots[id].type->owning == owning::borrowed) {
    // A view: which variables it looks into was noted by the checker; temporaries are added here.
    if (!e.is<call_expr>() && !e.is<try_expr>() && !e.is<or_expr>()) {
      value v = lower(e);
      note_value_views(id, v);
      set(value_of(id), std::move(v), e.at);
      return;
    }
  }
  store(value_of(id), e);
}

void lowering::lower_assign(const assign_stmt& x, span at) {
  const std::uint32_t mark = top_;
  const type* const t = x.to->type;
  if (x.op != word::s_set) {
    value place = lower_place(*x.to);
    value v = make(t, binary_value{x.computes(), place, lower(*x.value)});
    if (keeps_old_value(x)) v = safe(std::move(v), at);
    set(std::move(place), std::move(v), at);
  } else if (!t->needs_release()) {
    if (x.to->is<name_expr>() && !x.value->is<name_expr>()) {
      const value place = lower_place(*x.to);
      if (place.slot() != no_id && !flow_.slots[place.slot()].by_reference) {
        const bool reads = reads_slot(*x.value, place.slot());
        // The elements of a list are stored one by one.
        if ((!reads || (!contains_effects(*x.value) && !x.value->is<list_expr>())) &&
            !keeps_old_value(x)) {
          store_value(place.slot(), *x.value);
          if (open()) leave_to(mark, at);
          top_ = mark;
          return;
        }
      }
    }
    const var_id tmp = add_temp(t, at);
    store_value(tmp, *x.value);
    value place = lower_place(*x.to);
    set(std::move(place), value_of(tmp), at);
  } else {
    // The new value first: it may be made of the old one.
    const var_id tmp = add_temp(t, at);
    add(at, clear_instr{tmp});
    store(value_of(tmp), *x.value);
    const std::uint32_t inner = top_;
    push_release(tmp);
    value place = lower_place(*x.to);
    const var_id old = add_temp(t, at);
    set(value_of(old), place, at);
    add(at, release_instr{old});
    set(std::move(place), value_of(tmp), at);
    add(at, clear_instr{tmp});
    top_ = inner;
  }
  if (open()) leave_to(mark, at);
  top_ = mark;
}

bool lowering::keeps_old_value(const assign_stmt& x) const {
  // A call that fails gives no value, and the variable is not what it left in its result's place.
  // Neither is it what an operation with a fault gives.
  if (x.op == word::s_set && !contains_effects(*x.value) && !lowers_to_fault(*x.value))
    return false;
  const variable* const root = place_root(*x.to);
  if (x.value->is<or_expr>() || root == nullptr || root->is_param()) return true;
  for (std::uint32_t n = top_; n != no_id; n = cleanups_[n].parent)
    if (cleanups_[n].op == cleanup_op::defer) return true;
  return false;
}

bool lowering::reads_slot(const expr& e, var_id id) {
  bool reads = false;
  walk(
      e,
      [&](const expr& x) {
        if (x.local() == nullptr || x.local()->type->is(kind::action)) return;
        reads |= variable_value(*x.local()).slot() == id;
      },
      [](const stmt&) {});
  return reads;
}

}  // namespace heddle::draft
