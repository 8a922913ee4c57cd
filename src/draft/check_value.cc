// SPDX-License-Identifier: MIT
// Types of expressions that make, move or replace a value: records, conversions, spawn, try, or.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

const type* checker::check_construct(expr& e, std::string_view name, const type* want) {
  const operation* const op = find_operation(receiver::none, name);
  const type* of = nullptr;
  e.a->means = meaning::construct;
  if (name == "channel" || name == "broadcast" || name == "rendezvous") {
    if (e.a->generic.size() == 1) {
      type_expr t;
      t.kind = type_expr::form::name;
      t.at = e.a->at;
      t.name = name;
      t.inner = e.a->generic;
      const type* const whole = resolve(t);
      of = whole->of;
    } else if (want != nullptr && spelling(receiver_of(want->kind)) == name) {
      of = want->of;
    } else {
      error("D0004", e.a->at, "a " + std::string(name) + " of which type?").hint =
          "write " + std::string(name) + "<int>(...)";
    }
    if (of == nullptr) {
      for (argument& a : e.args) check(*a.value);
      return wrong(e);
    }
  }
  return check_operation(e, *op, nullptr, of);
}

const type* checker::check_event(expr& e) {
  e.a->means = meaning::construct;
  for (argument& a : e.args) check(*a.value);
  if (waits_.empty()) {
    error("D0004", e.at, "an event of a variable is made inside 'wait'").hint =
        "rendezvous<int>() makes events elsewhere";
    return wrong(e);
  }
  waits_.back().tried = true;
  if (e.args.size() != 1 || e.a->has_generic) {
    error("D0006", e.at, "'event' takes one variable, as event(answer)");
    return wrong(e);
  }
  const expr& to = *e.args[0].value;
  if (to.type->is(kind::poison)) return wrong(e);
  if (to.kind != expr_kind::name || to.means != meaning::local || !to.type->is(kind::optional)) {
    error("D0004", to.at, "the value of an event becomes that of a variable ?T").hint =
        "declare one before the 'wait': var answer: ?int = none";
    return wrong(e);
  }
  const auto found = std::find(scope_.begin(), scope_.end(), to.var);
  if (static_cast<std::size_t>(found - scope_.begin()) >= waits_.back().names) {
    auto& d = error("D0004", to.at, quoted(to.name) + " ends before the 'wait' does");
    d.notes.push_back({to.var->at, "declare it before the 'wait'"});
    return wrong(e);
  }
  require_changeable(to, to.at, "the event changes it");
  e.means = meaning::operation;
  e.op_info = &operation_of(operation_id::event_of_wait);
  e.op_type = to.type->of;
  waits_.back().at->events.push_back(&e);
  return e.type = types_.generic(kind::event, to.type->of);
}

const type* checker::check_record_call(expr& e, const type* t) {
  e.means = meaning::record;
  const auto& parts = t->record->parts;
  std::vector<argument> sorted(parts.size());
  for (argument& a : e.args) {
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
  e.args = std::move(sorted);
  return e.type = t;
}

const type* checker::check_conversion(expr& e, const type* t) {
  e.means = meaning::conversion;
  e.type = t;
  if (e.args.size() != 1 || !e.args[0].name.empty()) {
    error("D0006", e.at, "a conversion takes one value: " + t->name + "(x)");
    for (argument& a : e.args) check(*a.value);
    return t;
  }
  expr& x = *e.args[0].value;
  check_value(x, nullptr);
  const type& from = *x.type;
  if (from.is(kind::poison) || t->is(kind::poison)) return t;
  bool possible = false;
  if (t->is_integer())
    possible = from.is_integer() || from.is(kind::enumeration) || from.is(kind::boolean) ||
               from.is(kind::duration) || from.is(kind::error);
  if (t->is(kind::duration)) possible = from.is_integer();
  if (t->is(kind::bytes)) possible = x.kind == expr_kind::text || from.is(kind::bytes);
  if (t->is(kind::text)) {
    possible = like_view(from);
    e.fallible = x.kind != expr_kind::text && !(from.is(kind::text) && from.count <= t->count);
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
    if (x.kind == expr_kind::text) convert(x, t, nullptr);
  }
  return t;
}

const type* checker::check_spawn(expr& e) {
  if (e.a->kind != expr_kind::call) {
    error("D0004", e.at, "'spawn' starts a call: spawn session(c)");
    return wrong(e);
  }
  module* home = nullptr;
  symbol* const s = symbol_of(*e.a->a, home);
  if (s == nullptr || s->fn == nullptr || s->decl->is_extern || s->decl->kind == item_kind::main) {
    error("D0004", e.a->at, "'spawn' starts a thread or a function of Draft");
    for (argument& a : e.a->args) check(*a.value);
    return wrong(e);
  }
  function& f = *s->fn;
  f.spawned = true;
  check_user_call(*e.a, f, true);
  e.a->fallible = false;
  if (!f.is_thread()) {
    bool borrows = false;
    for (std::size_t i = 0; i != f.params.size(); ++i) {
      const variable& v = *f.params[i];
      const bool borrowed = (v.type->is_owned() && v.how != passing::take) ||
                            v.type->owning == owning::borrowed || v.how == passing::change;
      // The statement ends before the job does, and what was made in it.
      if (const expr& a = *e.a->args[i].value;
          borrowed && scopes_ != 0 && v.how != passing::change && a.type != nullptr &&
          a.kind != expr_kind::bad &&
          (v.type->is_owned() ? !is_place(a) && !a.type->is(kind::none) : is_temporary(a)))
        refuse_temporary(a);
      if (!borrowed || scopes_ != 0) continue;
      borrows = true;
      auto& d =
          error("D0702", e.a->args[i].at, quoted(f.name) + " borrows this, and may outlive it");
      d.notes.push_back({v.at, "the parameter"});
      d.hint = "spawn it inside 'scope { }', which waits for it";
      break;
    }
    static_cast<void>(borrows);
  }
  if (e.b) {
    check(*e.b);
    refuse_fallible(*e.b);
    const type& t = *e.b->type;
    if (!t.is_integer() && !t.is(kind::conn) && !t.is(kind::poison))
      error("D0004", e.b->at, "a color is a number or a connection, and this is " + t.name);
    if (scopes_ != 0)
      error("D0004", e.b->at, "a thread inside 'scope' has the color of its scope").hint =
          "spawn it outside of the scope";
  }
  return e.type = types_.generic(kind::job, f.result, true);
}

const type* checker::check_try(expr& e, const type* want) {
  check(*e.a, want);
  const type* const t = e.a->type;
  if (t->is(kind::poison)) return wrong(e);
  if (!e.a->fallible) {
    auto& d = error("D0402", e.at, "this has no error that 'try' could pass on");
    d.hint = t->is(kind::optional) ? "handle none with 'or'" : "delete 'try'";
    e.type = t;
    return t;
  }
  e.a->fallible = false;
  if (function_ != nullptr && !function_->fallible && !function_->is_thread() &&
      !function_->is_main()) {
    auto& d = error(
        "D0402", e.at,
        "'try' passes the error on, and " + quoted(function_->name) + " has no error to give");
    d.notes.push_back({function_->decl->at, "its result has no '!'"});
    d.hint = "add '!' to its result, or handle the error with 'or'";
  }
  return e.type = t;
}

const type* checker::check_or(expr& e, const type* want) {
  check(*e.a, want);
  const type* t = e.a->type;
  if (!t->is(kind::poison)) {
    if (e.a->fallible) {
      e.a->fallible = false;
    } else if (t->is(kind::optional)) {
      e.of_optional = true;
      t = t->of;
      if (e.a->type->is_owned() && is_place(*e.a)) check_move(*e.a, nullptr);
    } else {
      auto& d = error("D0402", e.at, "'or' handles an error or none, and here is neither");
      if (t->is(kind::boolean)) d.hint = "for bool it is '||'";
    }
  }
  e.type = t;
  if (e.jump) {
    check_stmt(*e.jump);
    return t;
  }
  if (e.handler) {
    {
      const names_here scope(*this);
      if (!e.name.empty()) {
        if (e.of_optional) {
          error("D0004", e.name_at, "none has no error to name");
        } else {
          e.error_var = declare(e.name, e.name_at, types_.basic(kind::error), false);
          if (e.error_var != nullptr) e.error_var->is_error = true;
        }
      }
      check_block(*e.handler);
    }
    if (!e.discards && !t->is(kind::void_) && !t->is(kind::poison) && !leaves(*e.handler)) {
      auto& d = error("D0004", e.handler->at, "after this there is no " + t->name);
      d.hint = "end it with return, break, continue or fail";
    }
    return t;
  }
  if (t->is(kind::void_)) {
    error("D0004", e.b->at, "there is no value that could be replaced").hint =
        "write a block: or { ... }";
    check(*e.b);
    return t;
  }
  check(*e.b, t);
  // `a or try b`, `a or b or return`: the error of the right side is handled there.
  refuse_fallible(*e.b);
  convert(*e.b, t, "'or'");
  if (e.b->type->is_owned() && is_place(*e.b)) check_move(*e.b, nullptr);
  return t;
}

const type* checker::check_move(expr& e, const type* want) {
  expr& x = e.kind == expr_kind::move ? *e.a : e;
  const type* const t = x.type != nullptr && e.kind != expr_kind::move ? x.type : check(x, want);
  e.type = t;
  if (t->is(kind::poison)) return t;
  if (x.kind != expr_kind::name || x.means != meaning::local) {
    if (!is_place(x) && e.kind == expr_kind::move)
      error("D0901", e.at, "'move' takes from a variable").hint = "delete 'move'";
    else
      error("D0901", e.at, "only a whole variable can be moved");
    return t;
  }
  variable& v = *x.var;
  const bool thread = v.owner != nullptr && (v.owner->is_thread() || v.owner->is_main());
  if (v.is_param && v.how != passing::take && !thread) {
    auto& d = error("D0901", e.at, quoted(v.name) + " is borrowed, and its owner keeps it");
    d.notes.push_back({v.at, "the parameter"});
    d.hint = "make it 'take " + v.name + "'";
    return t;
  }
  if (!t->is_owned() && e.kind == expr_kind::move)
    error("D0901", e.at, "a " + t->name + " is copied; there is nothing to move").hint =
        "delete 'move'";
  x.moves = t->is_owned();
  return t;
}

}  // namespace heddle::draft
