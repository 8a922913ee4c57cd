// SPDX-License-Identifier: MIT
// Bodies that are lowered into their callers: those of merged functions, and the actions that calls
// of such functions pass down. An action sees the names of the context where it is written.
#include <utility>

#include "draft/lowering.hh"
#include "draft/own_graph.hh"

namespace heddle::draft {

void lowering::lower_merged(const expr& e, const call_expr& x, var_id into,
                            const failure& on_error) {
  function& f = *x.callee;
  const std::uint32_t mark = top_;
  context inner;
  inner.fn = &f;
  inner.outer = context_;
  std::vector<const expr*> list;
  for (const argument& a : x.args) list.push_back(a.value.get());
  for (std::size_t n = 0; n != x.args.size(); ++n) {
    const param& p = f.decl->params[n];
    const expr& a = *x.args[n].value;
    const type* const t = p.var->type;
    if (t->is(kind::action)) {
      inner.actions.emplace(p.var, action_of(a));
      continue;
    }
    if (p.how == passing::change) {
      inner.aliases.emplace(p.var, lower_place(a));
      continue;
    }
    if (p.how == passing::take && t->needs_release()) {
      const var_id id = add_slot(p.var->name, t, p.at);
      add(a.at, clear_instr{id});
      push_release(id);
      store(value_of(id), a);
      inner.names[p.var] = id;
      continue;
    }
    // A parameter that is borrowed is the argument itself where that is a variable; of a type that
    // is copied, where no later argument changes the variable. The callee cannot change it: a call
    // that borrows a variable and changes it is refused, and results go through a temporary.
    // An action of the call may change the variable, too.
    bool kept = p.how != passing::take && !effects_follow(list, n) && !f.takes_action();
    // f(x, x) of `n: int, var m: int`: n is what x was before the call.
    for (std::size_t m = 0; m != list.size(); ++m)
      kept = kept && (f.decl->params[m].how != passing::change || place_root(a) == nullptr ||
                      place_root(*list[m]) != place_root(a));
    if (a.to == nullptr && (a.means == meaning::local || a.means == meaning::field)) {
      value place = lower_place(a);
      if (t->needs_release() || kept) {
        inner.aliases.emplace(p.var, std::move(place));
        continue;
      }
    }
    value v = lower_argument(a, true);
    if (v.is<number_value, text_value>() || (t->is(kind::view) && kept)) {
      inner.aliases.emplace(p.var, std::move(v));
      continue;
    }
    const var_id id = add_slot(p.var->name, t, p.at);
    note_value_views(id, v);
    if (t->needs_release()) {
      add(a.at, clear_instr{id});
      push_release(id);
      store(value_of(id), a);
    } else {
      set(value_of(id), std::move(v), a.at);
    }
    inner.names[p.var] = id;
  }
  inner.result = result_slot(f.result, into, e.at);
  inner.end = fresh(("end_" + f.name).c_str(), e.at);
  lower_inside(inner, f.decl->body, f.fallible(), e.at, on_error);
  if (top_ != mark && into != no_id) leave_to(mark, e.at);
}

lowering::bound_action lowering::action_of(const expr& e) const {
  if (const action_expr* const x = e.get<action_expr>()) return {x, context_};
  // The parameter belongs to this function, or to one around this action.
  const variable* const v = e.local();
  const context* c = context_;
  while (!c->actions.contains(v)) c = c->home;
  return c->actions.at(v);
}

void lowering::lower_action(const expr& e, const variable& v, var_id into,
                            const failure& on_error) {
  const bound_action made = action_of(*e.as<call_expr>().called);
  const std::uint32_t mark = top_;
  context inner;
  inner.fn = made.home->fn;
  inner.outer = context_;
  inner.home = made.home;
  inner.result = result_slot(v.type->of, into, e.at);
  inner.end = fresh(("end_" + v.name).c_str(), e.at);
  lower_inside(inner, *made.body->body, v.type->of_fallible, e.at, on_error);
  if (top_ != mark && into != no_id) leave_to(mark, e.at);
}

void lowering::lower_inside(context& inner, const block& b, bool fallible, span at,
                            const failure& on_error) {
  inner.base = top_;
  context* const outer = std::exchange(context_, &inner);
  lower_block(b);
  if (open()) {
    set_status(0, b.at);
    go(inner.end);
  }
  context_ = outer;
  at_ = inner.end;
  if (fallible) {
    split_faults(on_error, at);
  } else {
    check_status(unwind_to(top_), at);
  }
}

}  // namespace heddle::draft
