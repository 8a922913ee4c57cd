// SPDX-License-Identifier: MIT
// Types of expressions that make, move or replace a value: records, conversions, spawn, try, or.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

const type* checker::check_construct(expr& e, call_expr& x, name_expr& made, const type* want) {
  const std::string_view name = made.name;
  const operation* const op = find_operation(receiver::none, name);
  const type* of = nullptr;
  x.called->means = meaning::construct;
  if (name == "channel" || name == "broadcast" || name == "rendezvous") {
    if (made.generic.size() == 1) {
      type_expr t;
      t.kind = type_expr::form::name;
      t.at = x.called->at;
      t.name = name;
      t.inner = made.generic;
      const type* const whole = resolve(t);
      of = whole->of;
    } else if (want != nullptr && spelling(receiver_of(want->kind)) == name) {
      of = want->of;
    } else {
      error("D0004", x.called->at, "a " + std::string(name) + " of which type?").hint =
          "write " + std::string(name) + "<int>(...)";
    }
    if (of == nullptr) return wrong_call(e, x);
  }
  return check_operation(e, x, *op, nullptr, of);
}

const type* checker::check_event(expr& e, call_expr& x) {
  x.called->means = meaning::construct;
  for (argument& a : x.args) check(*a.value);
  if (waits_.empty()) {
    error("D0004", e.at, "an event of a variable is made inside 'wait'").hint =
        "rendezvous<int>() makes events elsewhere";
    return wrong(e);
  }
  waits_.back().tried = true;
  if (x.args.size() != 1 || x.called->as<name_expr>().has_generic) {
    error("D0006", e.at, "'event' takes one variable, as event(answer)");
    return wrong(e);
  }
  const expr& to = *x.args[0].value;
  if (to.type->is(kind::poison)) return wrong(e);
  if (to.local() == nullptr || !to.type->is(kind::optional)) {
    error("D0004", to.at, "the value of an event becomes that of a variable ?T").hint =
        "declare one before the 'wait': var answer: ?int = none";
    return wrong(e);
  }
  const auto found = std::find(scope_.begin(), scope_.end(), to.local());
  if (static_cast<std::size_t>(found - scope_.begin()) >= waits_.back().names) {
    auto& d = error("D0004", to.at, quoted(to.local()->name) + " ends before the 'wait' does");
    d.notes.push_back({to.local()->at, "declare it before the 'wait'"});
    return wrong(e);
  }
  require_changeable(to, to.at, "the event changes it");
  e.means = meaning::operation;
  x.op = &operation_of(operation_id::event_of_wait);
  x.op_type = to.type->of;
  waits_.back().at->events.push_back(&e);
  return e.type = types_.generic(kind::event, to.type->of);
}

const type* checker::check_record_call(expr& e, call_expr& x, const type* t) {
  e.means = meaning::record;
  const auto& parts = t->record->parts;
  std::vector<argument> sorted(parts.size());
  for (argument& a : x.args) {
    std::size_t to = 0;
    while (to != parts.size() && parts[to].name != a.name) ++to;
    if (to == parts.size() || sorted[to].value) {
      error("D0006", a.at,
            a.name.empty() ? "the fields of a record are named: " + t->name + "(" +
                                 (parts.empty() ? "" : parts[0].name) + ": ...)"
                           : "the record " + t->name + " has no field " + quoted(a.name) +
                                 (to == parts.size() ? "" : " twice"));
      check(*a.value);
      continue;
    }
    sorted[to] = std::move(a);
  }
  // Fields that are left out are zero, empty or none; a handle has no such value.
  for (std::size_t i = 0; i != parts.size(); ++i) {
    if (sorted[i].value) {
      check_value(*sorted[i].value, parts[i].type, ("the field " + quoted(parts[i].name)).c_str());
      continue;
    }
    if (parts[i].type->owning == owning::counted && !parts[i].type->is(kind::bytes) &&
        !parts[i].type->is(kind::record) && !parts[i].type->is(kind::optional)) {
      auto& d = error("D0006", e.at, "the field " + quoted(parts[i].name) + " has no value");
      d.notes.push_back({parts[i].at, "a " + parts[i].type->name + " has no empty value"});
    }
  }
  x.args = std::move(sorted);
  return e.type = t;
}

const type* checker::check_conversion(expr& e, call_expr& call, const type* t) {
  e.means = meaning::conversion;
  e.type = t;
  if (call.args.size() != 1 || !call.args[0].name.empty()) {
    error("D0006", e.at, "a conversion takes one value: " + t->name + "(x)");
    for (argument& a : call.args) check(*a.value);
    return t;
  }
  expr& x = *call.args[0].value;
  check_value(x, nullptr);
  const type& from = *x.type;
  if (from.is(kind::poison) || t->is(kind::poison)) return t;
  bool possible = false;
  if (t->is_integer())
    possible = from.is_integer() || from.is(kind::enumeration) || from.is(kind::boolean) ||
               from.is(kind::duration) || from.is(kind::error);
  if (t->is(kind::duration)) possible = from.is_integer();
  if (t->is(kind::bytes)) possible = x.is<text_expr>() || from.is(kind::bytes);
  if (t->is(kind::text)) {
    possible = like_view(from);
    e.fallible = !x.is<text_expr>() && !(from.is(kind::text) && from.count <= t->count);
  }
  if (!possible) {
    auto& d = error("D0004", x.at, "a " + from.name + " cannot become " + t->name);
    if (t->is(kind::bytes)) d.hint = "copy() makes bytes of a view";
    return t;
  }
  if (x.is_constant && t->is_integer()) {
    if (x.number < min_of(*t) || x.number > static_cast<__int128>(max_of(*t))) {
      error("D1102", x.at, to_decimal(x.number) + " does not fit in " + t->name);
    } else {
      e.is_constant = true;
      e.number = x.number;
    }
  }
  if (t->is(kind::bytes) || t->is(kind::text)) {
    if (x.is<text_expr>()) convert(x, t, nullptr);
  }
  return t;
}

const type* checker::check_spawn(expr& e, spawn_expr& x) {
  if (action_ != nullptr)
    error("D0704", e.at, "an action starts no thread").hint =
        "'spawn' belongs to the function around it";
  call_expr* const call = x.call->get<call_expr>();
  if (call == nullptr) {
    error("D0004", e.at, "'spawn' starts a call: spawn session(c)");
    return wrong(e);
  }
  module* home = nullptr;
  symbol* const s = symbol_of(*call->called, home);
  if (s == nullptr || s->fn == nullptr || s->decl->is_extern() || s->fn->is_main()) {
    error("D0004", x.call->at, "'spawn' starts a thread or a function of Draft");
    for (argument& a : call->args) check(*a.value);
    return wrong(e);
  }
  function& f = *s->fn;
  if (f.takes_action()) {
    auto& d = error("D0703", x.call->at, quoted(f.name) + " takes an action and cannot be spawned");
    d.notes.push_back({f.decl->at, "it is declared here"});
    d.hint = "an action sees variables that may end before the job; call the function";
    for (argument& a : call->args) {
      if (a.value->is<action_expr>()) continue;
      check(*a.value);
      a.value->fallible = false;
    }
    return wrong(e);
  }
  f.spawned = true;
  check_user_call(*x.call, *call, f, true);
  x.call->fallible = false;
  if (!f.is_thread()) {
    for (std::size_t i = 0; i != f.params.size(); ++i) {
      const variable& v = *f.params[i];
      const bool borrowed = (v.type->is_owned() && v.how != passing::take) ||
                            v.type->owning == owning::borrowed || v.how == passing::change;
      // The statement ends before the job does, and what was made in it.
      if (const expr& a = *call->args[i].value;
          borrowed && scopes_ != 0 && v.how != passing::change && a.type != nullptr &&
          !a.is<bad_expr>() &&
          (v.type->is_owned() ? !is_place(a) && !a.type->is(kind::none) : is_temporary(a)))
        refuse_temporary(a);
      if (!borrowed || scopes_ != 0) continue;
      auto& d =
          error("D0702", call->args[i].at, quoted(f.name) + " borrows this, and may outlive it");
      d.notes.push_back({v.at, "the parameter"});
      d.hint = "spawn it inside 'scope { }', which waits for it";
      break;
    }
  }
  if (x.color) {
    check(*x.color);
    refuse_fallible(*x.color);
    const type& t = *x.color->type;
    if (!t.is_integer() && !t.is(kind::conn) && !t.is(kind::poison))
      error("D0004", x.color->at, "a color is a number or a connection, and this is " + t.name);
    if (scopes_ != 0)
      error("D0004", x.color->at, "a thread inside 'scope' has the color of its scope").hint =
          "spawn it outside of the scope";
  }
  return e.type = types_.generic(kind::job, f.result, true);
}

const type* checker::check_try(expr& e, try_expr& x, const type* want) {
  check(*x.of, want);
  const type* const t = x.of->type;
  if (t->is(kind::poison)) return wrong(e);
  if (!x.of->fallible) {
    auto& d = error("D0402", e.at, "this has no error that 'try' could pass on");
    d.hint = t->is(kind::optional) ? "handle none with 'or'" : "delete 'try'";
    e.type = t;
    return t;
  }
  x.of->fallible = false;
  if (function_ != nullptr && !may_fail_here()) {
    auto& d = error("D0402", e.at,
                    "'try' passes the error on, and " + name_here() + " has no error to give");
    note_result_here(d);
    d.hint = "add '!' to its result, or handle the error with 'or'";
  }
  return e.type = t;
}

const type* checker::check_or(expr& e, or_expr& x, const type* want) {
  check(*x.of, want);
  const type* t = x.of->type;
  if (!t->is(kind::poison)) {
    if (x.of->fallible) {
      x.of->fallible = false;
    } else if (t->is(kind::optional)) {
      x.of_optional = true;
      t = t->of;
      if (x.of->type->is_owned() && is_place(*x.of)) move_from(*x.of, x.of->at, false);
    } else {
      auto& d = error("D0402", e.at, "'or' handles an error or none, and here is neither");
      if (t->is(kind::boolean)) d.hint = "for bool it is '||'";
    }
  }
  e.type = t;
  if (x.jump) {
    check_stmt(*x.jump);
    return t;
  }
  if (x.handler) {
    {
      const names_here scope(*this);
      if (!x.name.empty()) {
        if (x.of_optional) {
          error("D0004", x.name_at, "none has no error to name");
        } else {
          x.error_var = declare(x.name, x.name_at, types_.basic(kind::error), false);
          if (x.error_var != nullptr) x.error_var->role = variable_role::error;
        }
      }
      check_block(*x.handler);
    }
    if (!x.discards && !t->is(kind::void_) && !t->is(kind::poison) && !leaves(*x.handler)) {
      auto& d = error("D0004", x.handler->at, "after this there is no " + t->name);
      d.hint = "end it with return, break, continue or fail";
    }
    return t;
  }
  if (t->is(kind::void_)) {
    error("D0004", x.otherwise->at, "there is no value that could be replaced").hint =
        "write a block: or { ... }";
    check(*x.otherwise);
    return t;
  }
  check(*x.otherwise, t);
  // `a or try b`, `a or b or return`: the error of the right side is handled there.
  refuse_fallible(*x.otherwise);
  convert(*x.otherwise, t, "'or'");
  if (x.otherwise->type->is_owned() && is_place(*x.otherwise))
    move_from(*x.otherwise, x.otherwise->at, false);
  return t;
}

const type* checker::check_move(expr& e, move_expr& x, const type* want) {
  e.type = check(*x.of, want);
  move_from(*x.of, e.at, true);
  return e.type;
}

void checker::move_from(expr& x, span at, bool written) {
  const type* const t = x.type;
  if (t->is(kind::poison)) return;
  name_expr* const name = x.get<name_expr>();
  if (name == nullptr || name->var == nullptr) {
    if (!is_place(x) && written)
      error("D0901", at, "'move' takes from a variable").hint = "delete 'move'";
    else
      error("D0901", at, "only a whole variable can be moved");
    return;
  }
  variable& v = *name->var;
  const bool thread = v.owner != nullptr && (v.owner->is_thread() || v.owner->is_main());
  if (v.is_param() && v.how != passing::take && !thread) {
    auto& d = error("D0901", at, quoted(v.name) + " is borrowed, and its owner keeps it");
    d.notes.push_back({v.at, "the parameter"});
    d.hint = "make it 'take " + v.name + "'";
    return;
  }
  const auto found = std::find(scope_.begin(), scope_.end(), &v) - scope_.begin();
  if (t->is_owned() && static_cast<std::size_t>(found) < outer_names_) {
    auto& d = error("D0704", at, "an action cannot give away " + quoted(v.name));
    d.notes.push_back({v.at, "it is declared outside of the action"});
    d.hint = "an action may run any number of times, or never";
    return;
  }
  if (!t->is_owned() && written)
    error("D0901", at, "a " + t->name + " is copied; there is nothing to move").hint =
        "delete 'move'";
  name->moves = t->is_owned();
}

}  // namespace heddle::draft
