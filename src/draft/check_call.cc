// SPDX-License-Identifier: MIT
// Types of calls: of functions and of built-in operations, argument by argument.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {
namespace {

bool printable(const type& t) noexcept {
  return t.is_integer() || t.is(kind::boolean) || t.is(kind::duration) || t.is(kind::error) ||
         t.is(kind::view) || t.is(kind::bytes) || t.is(kind::text) || t.is(kind::enumeration) ||
         t.is(kind::poison);
}

/// A constant argument, for parameters that the call leaves out. Other kinds are no constants.
expr_ptr copy_constant(const expr& from, span at) {
  const auto copy = [&](const expr_ptr& part) { return copy_constant(*part, at); };
  return by_kind(
      from, [&](const name_expr& x) { return make_expr(at, name_expr{x.name}); },
      [&](const member_expr& x) { return make_expr(at, member_expr{copy(x.of), x.name}); },
      [&](const unary_expr& x) { return make_expr(at, unary_expr{x.op, copy(x.of)}); },
      [&](const binary_expr& x) {
        return make_expr(at, binary_expr{x.op, copy(x.left), copy(x.right)});
      },
      [&](const one_of<integer_expr, duration_expr, boolean_expr, text_expr, none_expr> auto& x) {
        return make_expr(at, x);
      },
      [&](const one_of<bad_expr, list_expr, call_expr, index_expr, range_expr, try_expr, move_expr,
                       spawn_expr, or_expr, action_expr> auto&) {
        return make_expr(at, bad_expr{});
      });
}

/// A copy of a default that was checked in another module: its names mean nothing in this one.
expr_ptr copy_checked(const expr& from, span at) {
  const bool is_text = from.is<text_expr>() || from.means == meaning::constant;
  if (from.means == meaning::enumerator || from.type == nullptr || !(from.is_constant || is_text))
    return copy_constant(from, at);
  if (!from.is_constant) return make_expr(at, text_expr{bytes_of(from)});
  if (from.type->is(kind::boolean)) return make_expr(at, boolean_expr{from.number != 0});
  const auto value = static_cast<std::uint64_t>(from.number < 0 ? -from.number : from.number);
  expr_ptr e = from.type->is(kind::duration) ? make_expr(at, duration_expr{value})
                                             : make_expr(at, integer_expr{value});
  return from.number < 0 ? make_expr(at, unary_expr{word::s_sub, std::move(e)}) : std::move(e);
}

}  // namespace

void checker::check_argument(argument& a, const type* want, passing how, std::string_view name) {
  const std::string what = "the parameter " + quoted(name);
  if (want->is(kind::action)) return check_action_argument(*a.value, *want, what);
  if (want->is(kind::poison) && a.value->is<action_expr>()) {
    wrong(*a.value);
    return;
  }
  switch (how) {
    case passing::borrow:
      check_value(*a.value, want, what.c_str());
      return;
    case passing::take:
      check_value(*a.value, want, what.c_str());
      if (a.value->type->is_owned() && is_place(*a.value)) {
        // Given to a parameter that takes, a variable is moved without the word.
        const span at = a.value->at;
        a.value = make_expr(at, move_expr{std::move(a.value)});
        check(*a.value, want);
      }
      return;
    case passing::change:
      break;
  }
  check(*a.value);
  refuse_fallible(*a.value);
  if (a.value->type->is(kind::poison)) return;
  if (!is_place(*a.value)) {
    error("D0004", a.value->at, what + " is changed, so it needs a variable").hint =
        "give it a name with 'var' first";
    return;
  }
  require_changeable(*a.value, a.value->at, what + " changes it");
  if (a.value->type != want)
    error("D0004", a.value->at,
          what + " wants " + want->name + ", and this is " + a.value->type->name);
}

void checker::require_changeable(const expr& e, span at, const std::string& why) {
  variable* const v = root_of(e);
  if (v == nullptr) {
    error("D0004", at, "only a variable can be changed, and " + why);
    return;
  }
  if (v->is_var) return;
  auto& d = error("D0004", at, quoted(v->name) + " cannot be changed, and " + why);
  d.notes.push_back({v->at, "it is declared here"});
  d.hint = v->is_param() ? "make the parameter 'var " + v->name + "'" : "declare it with 'var'";
}

const type* checker::wrong_call(expr& e, call_expr& x) {
  for (argument& a : x.args) check(*a.value);
  return wrong(e);
}

const type* checker::check_call(expr& e, call_expr& x, const type* want) {
  expr& callee = *x.called;
  module* home = nullptr;
  if (name_expr* const name = callee.get<name_expr>()) {
    if (symbol* s = symbol_of(callee, home)) {
      if (s->fn != nullptr) {
        if (s->fn->is_main() || s->fn->is_thread()) {
          error("D0004", e.at, quoted(name->name) + " is a thread and is not called").hint =
              "spawn " + std::string(name->name) + "(...)";
          return wrong(e);
        }
        return check_user_call(e, x, *s->fn, false);
      }
      if (s->type != nullptr && s->type->is(kind::record)) return check_record_call(e, x, s->type);
      if (s->type != nullptr) {
        error("D0004", callee.at, quoted(name->name) + " cannot be called");
        return wrong(e);
      }
    }
    if (variable* const v = find_variable(name->name)) {
      if (v->type->is(kind::action)) return check_action_call(e, x, *v);
      if (v->type->is(kind::poison)) return wrong_call(e, x);
    }
    if (find_variable(name->name) == nullptr && module_.names.count(name->name) == 0) {
      if (name->name == "text" && name->has_generic) {
        type_expr t;
        t.kind = type_expr::form::name;
        t.at = callee.at;
        t.name = name->name;
        t.inner = name->generic;
        return check_conversion(e, x, resolve(t));
      }
      if (name->name == "buffer" || name->name == "channel" || name->name == "broadcast" ||
          name->name == "semaphore" || name->name == "rendezvous")
        return check_construct(e, x, *name, want);
      if (name->name == "event") return check_event(e, x);
      if (const type* t = types_.find(name->name);
          t != nullptr && (t->is_integer() || t->is(kind::bytes) || t->is(kind::duration)))
        return check_conversion(e, x, t);
      auto& d = error("D0003", callee.at, "there is no function " + quoted(name->name));
      d.hint = suggest(name->name);
      return wrong_call(e, x);
    }
    error("D0004", callee.at, quoted(name->name) + " is not a function");
    return wrong(e);
  }
  member_expr* const member = callee.get<member_expr>();
  if (member == nullptr) {
    error("D0004", e.at, "this cannot be called");
    return wrong(e);
  }
  expr& on = *member->of;
  if (const name_expr* const name = on.get<name_expr>();
      name != nullptr && find_variable(name->name) == nullptr) {
    if (symbol* s = symbol_of(callee, home)) {
      if (s->fn != nullptr && !s->fn->is_main() && !s->fn->is_thread())
        return check_user_call(e, x, *s->fn, false);
      if (s->type != nullptr && s->type->is(kind::record)) return check_record_call(e, x, s->type);
      error("D0004", callee.at, quoted(member->name) + " cannot be called");
      return wrong(e);
    }
    if (is_namespace(name->name) && module_.names.count(name->name) == 0) {
      if (!module_.uses_builtin(name->name)) {
        error("D0003", on.at, quoted(name->name) + " is not used in this module").hint =
            "write 'use " + std::string(name->name) + "' at the top";
        return wrong(e);
      }
      const receiver home = module_named(name->name);
      const operation* const op = find_operation(home, member->name);
      if (op == nullptr) {
        std::vector<std::string> known;
        for (const operation& o : operations())
          if (o.on == home) known.emplace_back(o.name);
        auto& d = error("D0003", member->name_at,
                        "there is no " + quoted(member->name) + " in " + std::string(name->name));
        if (const std::string best = nearest(member->name, known); !best.empty())
          d.hint = "did you mean " + quoted(best) + "?";
        return wrong_call(e, x);
      }
      callee.means = meaning::operation;
      on.means = meaning::namespace_;
      return check_operation(e, x, *op, nullptr, nullptr);
    }
    if (module_.used(name->name) != nullptr) {
      error("D0003", member->name_at,
            "there is no " + quoted(member->name) + " in the module " + quoted(name->name));
      return wrong_call(e, x);
    }
  }
  const type* const t = check(on);
  refuse_fallible(on);
  if (t->is(kind::poison)) return wrong_call(e, x);
  const operation* op = find_operation(receiver_of(t->kind), member->name);
  if (op == nullptr || op->property) {
    std::vector<std::string> known;
    for (const operation& o : operations())
      if (o.on == receiver_of(t->kind)) known.emplace_back(o.name);
    auto& d = error("D0003", member->name_at, "a " + t->name + " has no " + quoted(member->name));
    if (op != nullptr) {
      d.hint = "it is a value: write it without ( )";
    } else if (const std::string best = nearest(member->name, known); !best.empty()) {
      d.hint = "did you mean " + quoted(best) + "?";
    }
    return wrong_call(e, x);
  }
  return check_operation(e, x, *op, &on, t->of);
}

const type* checker::check_operation(expr& e, call_expr& x, const operation& op, expr* receiver,
                                     const type* of) {
  e.means = meaning::operation;
  x.op = &op;
  x.op_type = of;
  e.fallible = op.fallible;
  e.waits = op.waits;
  if (receiver != nullptr) {
    if (op.changes || op.consumes) {
      if (!is_place(*receiver)) {
        error("D0004", receiver->at, quoted(op.name) + " needs a variable");
      } else if (op.changes) {
        require_changeable(*receiver, receiver->at, quoted(op.name) + " changes it");
      }
    }
    if (op.consumes) move_from(*receiver, receiver->at, false);
    if (is_temporary(*receiver) && (receiver->type->needs_release() || op.looks_into))
      refuse_temporary(*receiver);
  }
  if (op.params == "...") {
    for (argument& a : x.args) {
      check_value(*a.value, nullptr);
      if (!a.name.empty()) error("D0006", a.at, quoted(op.name) + " has no named arguments");
      if (!printable(*a.value->type))
        error("D0004", a.value->at, "a " + a.value->type->name + " cannot be printed");
    }
    return e.type = types_.basic(kind::void_);
  }
  const std::vector<operation_param> params = params_of(op);
  std::vector<argument> sorted(params.size());
  std::size_t next = 0;
  for (argument& a : x.args) {
    std::size_t to = next;
    if (!a.name.empty()) {
      to = 0;
      while (to != params.size() && params[to].name != a.name) ++to;
    }
    if (to >= params.size() || sorted[to].value) {
      error("D0006", a.at,
            a.name.empty() ? quoted(op.name) + " takes " + std::to_string(params.size()) +
                                 (params.size() == 1 ? " argument" : " arguments")
                           : quoted(op.name) + " has no parameter " + quoted(a.name));
      check(*a.value);
      continue;
    }
    next = to + 1;
    sorted[to] = std::move(a);
  }
  for (std::size_t i = 0; i != params.size(); ++i) {
    if (!sorted[i].value && !params[i].fallback.empty()) {
      const std::string_view written = params[i].fallback;
      if (written.starts_with('"'))
        sorted[i].value =
            make_expr(e.at, text_expr{std::string(written.substr(1, written.size() - 2))});
      else
        sorted[i].value = make_expr(e.at, integer_expr{std::stoull(std::string(written))});
    }
    if (!sorted[i].value) {
      auto& d =
          error("D0006", e.at, quoted(op.name) + " needs the argument " + quoted(params[i].name));
      d.hint = op.full_name() + "(" + std::string(op.params) + ")";
      sorted[i].value = make_expr(e.at, bad_expr{});
    }
    check_argument(sorted[i], resolve_word(params[i].type, of), params[i].how, params[i].name);
  }
  x.args = std::move(sorted);
  if (op.id == operation_id::join) {
    e.fallible = true;
    return e.type = of;
  }
  return e.type = resolve_word(op.result, of);
}

const type* checker::check_user_call(expr& e, call_expr& x, function& f, bool spawned) {
  e.means = meaning::function;
  x.callee = &f;
  x.called->means = meaning::function;
  const auto& params = f.decl->params;
  std::vector<argument> sorted(params.size());
  std::size_t next = 0;
  for (argument& a : x.args) {
    std::size_t to = next;
    if (!a.name.empty()) {
      to = 0;
      while (to != params.size() && params[to].name != a.name) ++to;
    }
    if (to >= params.size() || sorted[to].value) {
      auto& d = error("D0006", a.at,
                      a.name.empty() ? quoted(f.name) + " takes " + std::to_string(params.size()) +
                                           (params.size() == 1 ? " argument" : " arguments")
                                     : quoted(f.name) + " has no parameter " + quoted(a.name));
      d.notes.push_back({f.decl->at, "it is declared here"});
      check(*a.value);
      continue;
    }
    next = to + 1;
    sorted[to] = std::move(a);
  }
  for (std::size_t i = 0; i != params.size(); ++i) {
    const variable& v = *params[i].var;
    if (!sorted[i].value && params[i].fallback) {
      sorted[i].value = f.home == &module_ ? copy_constant(*params[i].fallback, e.at)
                                           : copy_checked(*params[i].fallback, e.at);
    }
    if (!sorted[i].value) {
      auto& d = error("D0006", e.at, quoted(f.name) + " needs the argument " + quoted(v.name));
      d.notes.push_back({params[i].at, "it is declared here"});
      sorted[i].value = make_expr(e.at, bad_expr{});
    }
    passing how = params[i].how;
    // A thread owns its parameters.
    if (how == passing::borrow && f.is_thread() && v.type->is_owned()) how = passing::take;
    check_argument(sorted[i], v.type, how, v.name);
    if (action_expr* const action = sorted[i].value->get<action_expr>()) action->to = params[i].var;
  }
  x.args = std::move(sorted);
  e.fallible = f.fallible();
  if (f.decl->is_blocking()) e.waits = true;
  if (!spawned && function_ != nullptr) function_->calls.push_back({&f, &e});
  if (function_ == nullptr) error("D0004", e.at, "a constant calls no function");
  return e.type = f.result;
}

}  // namespace heddle::draft
