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

/// A constant argument, for parameters that the call leaves out.
expr_ptr copy_constant(const expr& from, span at) {
  auto e = std::make_unique<expr>();
  e->kind = from.kind;
  e->op = from.op;
  e->at = at;
  e->name = from.name;
  e->value = from.value;
  e->text_value = from.text_value;
  if (from.a) e->a = copy_constant(*from.a, at);
  if (from.b) e->b = copy_constant(*from.b, at);
  return e;
}

/// A copy of a default that was checked in another module: its names mean nothing in this one.
expr_ptr copy_checked(const expr& from, span at) {
  const bool is_text = from.kind == expr_kind::text || from.means == meaning::constant;
  if (from.means == meaning::enumerator || from.type == nullptr || !(from.is_constant || is_text))
    return copy_constant(from, at);
  auto e = std::make_unique<expr>();
  e->at = at;
  e->kind = !from.is_constant               ? expr_kind::text
            : from.type->is(kind::boolean)  ? expr_kind::boolean
            : from.type->is(kind::duration) ? expr_kind::duration
                                            : expr_kind::integer;
  e->text_value = from.text_value;
  const bool negative = from.is_constant && from.number < 0;
  e->value = static_cast<std::uint64_t>(negative ? -from.number : from.number);
  if (!negative) return e;
  auto minus = std::make_unique<expr>();
  minus->kind = expr_kind::unary;
  minus->op = word::s_sub;
  minus->at = at;
  minus->a = std::move(e);
  return minus;
}

}  // namespace

void checker::check_argument(argument& a, const type* want, passing how, std::string_view name) {
  const std::string what = "the parameter " + quoted(name);
  switch (how) {
    case passing::borrow:
      check_value(*a.value, want, what.c_str());
      return;
    case passing::take:
      check_value(*a.value, want, what.c_str());
      if (a.value->type->is_owned() && is_place(*a.value)) {
        // Given to a parameter that takes, a variable is moved without the word.
        auto m = std::make_unique<expr>();
        m->kind = expr_kind::move;
        m->at = a.value->at;
        m->a = std::move(a.value);
        a.value = std::move(m);
        check_move(*a.value, want);
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
  d.hint = v->is_param ? "make the parameter 'var " + v->name + "'" : "declare it with 'var'";
}

const type* checker::check_call(expr& e, const type* want) {
  expr& callee = *e.a;
  module* home = nullptr;
  if (callee.kind == expr_kind::name) {
    if (symbol* s = symbol_of(callee, home)) {
      if (s->fn != nullptr) {
        if (s->decl->kind == item_kind::main || s->decl->kind == item_kind::thread) {
          error("D0004", e.at, quoted(callee.name) + " is a thread and is not called").hint =
              "spawn " + std::string(callee.name) + "(...)";
          return wrong(e);
        }
        return check_user_call(e, *s->fn, false);
      }
      if (s->type != nullptr && s->type->is(kind::record)) return check_record_call(e, s->type);
      if (s->type != nullptr) {
        error("D0004", callee.at, quoted(callee.name) + " cannot be called");
        return wrong(e);
      }
    }
    if (find_variable(callee.name) == nullptr && module_.names.count(callee.name) == 0) {
      if (callee.name == "text" && callee.has_generic) {
        type_expr t;
        t.kind = type_expr::form::name;
        t.at = callee.at;
        t.name = callee.name;
        t.inner = callee.generic;
        return check_conversion(e, resolve(t));
      }
      if (callee.name == "buffer" || callee.name == "channel" || callee.name == "broadcast" ||
          callee.name == "semaphore" || callee.name == "rendezvous")
        return check_construct(e, callee.name, want);
      if (callee.name == "event") return check_event(e);
      if (const type* t = types_.find(callee.name);
          t != nullptr && (t->is_integer() || t->is(kind::bytes) || t->is(kind::duration)))
        return check_conversion(e, t);
      auto& d = error("D0003", callee.at, "there is no function " + quoted(callee.name));
      d.hint = suggest(callee.name);
      for (argument& a : e.args) check(*a.value);
      return wrong(e);
    }
    error("D0004", callee.at, quoted(callee.name) + " is not a function");
    return wrong(e);
  }
  if (callee.kind != expr_kind::member) {
    error("D0004", e.at, "this cannot be called");
    return wrong(e);
  }
  expr& on = *callee.a;
  if (on.kind == expr_kind::name && find_variable(on.name) == nullptr) {
    if (symbol* s = symbol_of(callee, home)) {
      if (s->fn != nullptr && s->decl->kind == item_kind::function)
        return check_user_call(e, *s->fn, false);
      if (s->type != nullptr && s->type->is(kind::record)) return check_record_call(e, s->type);
      error("D0004", callee.at, quoted(callee.name) + " cannot be called");
      return wrong(e);
    }
    if (is_namespace(on.name) && module_.names.count(on.name) == 0) {
      if (!module_.uses_builtin(on.name)) {
        error("D0003", on.at, quoted(on.name) + " is not used in this module").hint =
            "write 'use " + std::string(on.name) + "' at the top";
        return wrong(e);
      }
      const receiver home = module_named(on.name);
      const operation* const op = find_operation(home, callee.name);
      if (op == nullptr) {
        std::vector<std::string> known;
        for (const operation& o : operations())
          if (o.on == home) known.emplace_back(o.name);
        auto& d = error("D0003", callee.name_at,
                        "there is no " + quoted(callee.name) + " in " + std::string(on.name));
        if (const std::string best = nearest(callee.name, known); !best.empty())
          d.hint = "did you mean " + quoted(best) + "?";
        for (argument& a : e.args) check(*a.value);
        return wrong(e);
      }
      callee.means = meaning::operation;
      on.means = meaning::namespace_;
      return check_operation(e, *op, nullptr, nullptr);
    }
    if (module_.used(on.name) != nullptr) {
      error("D0003", callee.name_at,
            "there is no " + quoted(callee.name) + " in the module " + quoted(on.name));
      for (argument& a : e.args) check(*a.value);
      return wrong(e);
    }
  }
  const type* const t = check(on);
  refuse_fallible(on);
  if (t->is(kind::poison)) {
    for (argument& a : e.args) check(*a.value);
    return wrong(e);
  }
  const operation* op = find_operation(receiver_of(t->kind), callee.name);
  if (op == nullptr || op->property) {
    std::vector<std::string> known;
    for (const operation& o : operations())
      if (o.on == receiver_of(t->kind)) known.emplace_back(o.name);
    auto& d = error("D0003", callee.name_at, "a " + t->name + " has no " + quoted(callee.name));
    if (op != nullptr) {
      d.hint = "it is a value: write it without ( )";
    } else if (const std::string best = nearest(callee.name, known); !best.empty()) {
      d.hint = "did you mean " + quoted(best) + "?";
    }
    for (argument& a : e.args) check(*a.value);
    return wrong(e);
  }
  return check_operation(e, *op, &on, t->of);
}

const type* checker::check_operation(expr& e, const operation& op, expr* receiver, const type* of) {
  e.means = meaning::operation;
  e.op_info = &op;
  e.op_type = of;
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
    if (op.consumes) check_move(*receiver, nullptr);
    if (is_temporary(*receiver) && (receiver->type->needs_release() || op.looks_into))
      refuse_temporary(*receiver);
  }
  if (op.params == "...") {
    for (argument& a : e.args) {
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
  for (argument& a : e.args) {
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
      sorted[i].value = std::make_unique<expr>();
      expr& v = *sorted[i].value;
      v.kind = expr_kind::text;
      v.at = e.at;
      v.text_value = params[i].fallback.substr(1, params[i].fallback.size() - 2);
    }
    if (!sorted[i].value) {
      auto& d =
          error("D0006", e.at, quoted(op.name) + " needs the argument " + quoted(params[i].name));
      d.hint = op.full_name() + "(" + std::string(op.params) + ")";
      sorted[i].value = std::make_unique<expr>();
      sorted[i].value->at = e.at;
    }
    check_argument(sorted[i], resolve_word(params[i].type, of), params[i].how, params[i].name);
  }
  e.args = std::move(sorted);
  if (op.id == operation_id::join) {
    e.fallible = true;
    return e.type = of;
  }
  return e.type = resolve_word(op.result, of);
}

const type* checker::check_user_call(expr& e, function& f, bool spawned) {
  e.means = meaning::function;
  e.callee = &f;
  e.a->means = meaning::function;
  e.a->callee = &f;
  const auto& params = f.decl->params;
  std::vector<argument> sorted(params.size());
  std::size_t next = 0;
  for (argument& a : e.args) {
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
      sorted[i].value = std::make_unique<expr>();
      sorted[i].value->at = e.at;
    }
    passing how = params[i].how;
    // A thread owns its parameters.
    if (how == passing::borrow && f.is_thread() && v.type->is_owned()) how = passing::take;
    check_argument(sorted[i], v.type, how, v.name);
  }
  e.args = std::move(sorted);
  e.fallible = f.fallible;
  if (f.decl->blocking) e.waits = true;
  if (!spawned && function_ != nullptr) function_->calls.push_back({&f, &e});
  if (function_ == nullptr) error("D0004", e.at, "a constant calls no function");
  return e.type = f.result;
}

}  // namespace heddle::draft
