// SPDX-License-Identifier: MIT
// Checks the types of whole functions, constants and enums; names in scope.
#include <algorithm>
#include <set>

#include "draft/checker.hh"
#include "draft/parser.hh"

namespace heddle::draft {

variable* checker::declare(std::string_view name, span at, const type* t, bool is_var) {
  if (const variable* other = find_variable(name); other != nullptr && name != "_") {
    auto& d = error("D1401", at, quoted(name) + " hides another variable of this name");
    d.notes.push_back({other->at, "declared here"});
    d.hint = "give one of them another name";
  } else if (const auto found = module_.names.find(name); found != module_.names.end()) {
    auto& d = error("D1401", at, quoted(name) + " hides what has this name in the module");
    d.notes.push_back({found->second.decl->name_at, "declared here"});
  } else if (module_.uses_builtin(name) || module_.used(name) != nullptr) {
    error("D1401", at, quoted(name) + " is the name of a module that is used here");
  } else if (name == "error" || (types_.find(name) != nullptr && name != "mode") ||
             is_generic(name)) {
    error("D1401", at, quoted(name) + " is the name of a built-in type");
  }
  auto v = std::make_unique<variable>();
  v->name = name;
  v->at = at;
  v->type = t;
  v->is_var = is_var;
  v->owner = function_;
  v->used = name.starts_with('_');
  variable* const made = v.get();
  if (function_ != nullptr) {
    v->number = static_cast<std::uint32_t>(function_->variables.size());
    function_->variables.push_back(std::move(v));
  }
  scope_.push_back(made);
  return made;
}

void checker::leave_scope(std::size_t count) {
  while (scope_.size() > count) {
    const variable& v = *scope_.back();
    scope_.pop_back();
    // Owning a value is a use of it: a turn is held, a file is kept open.
    if (v.used || v.is_param() || v.type->is_owned() || v.type->is(kind::poison)) continue;
    error("D1403", v.at, quoted(v.name) + " is not used").hint =
        v.role == variable_role::error ? "delete the name" : "delete it, or call it _";
  }
}

void checker::check_constant(constant& c) {
  if (c.resolved) return;
  if (c.resolving) {
    error("D0004", c.decl->name_at, quoted(c.decl->name) + " is computed from itself");
    c.type = poison();
    c.resolved = true;
    return;
  }
  const std::uint32_t depth = c.foreign() ? 1 : c.decl->value->depth;
  if (program_.constants_depth + depth > 2 * chain_max) {
    error("D0007", c.decl->name_at, "this constant is computed from too many others").hint =
        "write its value";
    c.type = poison();
    c.resolved = true;
    return;
  }
  program_.constants_depth += depth;
  compute_constant(c);
  program_.constants_depth -= depth;
}

void checker::compute_constant(constant& c) {
  c.resolving = true;
  const type* want = c.decl->type ? resolve(c.decl->type) : nullptr;
  if (c.foreign()) {
    c.type = want;
    if (!want->is_integer() && !want->is(kind::boolean) && !want->is(kind::poison))
      error("D1301", c.decl->type.at, "a constant of C is an integer or bool here");
    c.resolved = true;
    return;
  }
  expr& e = *c.decl->value;
  check_value(e, want, "the constant");
  c.type = want != nullptr ? want : e.type;
  if (c.type->is(kind::poison)) {
  } else if (e.is<text_expr>() || (e.means == meaning::constant && c.type->is(kind::view))) {
    c.text = bytes_of(e);
    c.type = types_.basic(kind::view);
  } else if (e.is_constant) {
    c.value = static_cast<std::uint64_t>(e.number);
  } else {
    error("D0004", e.at, "a constant is a number, a duration, a bool or a text");
    c.type = poison();
  }
  c.resolved = true;
}

void checker::check_enum(enumeration& e) {
  __int128 next = 0;
  std::set<__int128> seen;
  for (const enumerator& f : e.decl->values) {
    if (f.value) {
      check_value(*f.value, e.base, "the enum");
      if (f.value->is_constant) {
        next = f.value->number;
      } else if (!f.value->type->is(kind::poison)) {
        error("D0004", f.value->at, "a value of an enum is a constant");
      }
    }
    if (next > static_cast<__int128>(max_of(*e.base)))
      error("D1102", f.at, to_decimal(next) + " does not fit in " + e.base->name);
    for (const enumeration::value& other : e.values) {
      if (other.name != f.name && other.number != next) continue;
      auto& d = error("D0005", f.at,
                      other.name == f.name
                          ? "two values are called " + quoted(f.name)
                          : quoted(f.name) + " and " + quoted(other.name) + " are the same number");
      d.notes.push_back({other.at, "the first"});
      break;
    }
    e.values.push_back({std::string(f.name), static_cast<std::int64_t>(next), f.at});
    ++next;
  }
  if (e.values.empty()) error("D0004", e.decl->name_at, "an enum has at least one value");
}

void checker::check_let(let_stmt& x, span at) {
  const type* t = x.type ? resolve(x.type) : nullptr;
  if (t != nullptr && t->is(kind::void_)) t = poison();
  if (x.value) {
    check_value(*x.value, t, "the variable");
    if (x.value->to != nullptr && x.value->to->is(kind::view) && is_temporary(*x.value))
      refuse_temporary(*x.value);
    if (t == nullptr) t = x.value->type;
    if (t->is(kind::void_)) {
      error("D0004", x.value->at, "this has no value");
      t = poison();
    }
    if (t->is(kind::range) || t->is(kind::none)) {
      error("D0004", x.value->at, t->name + " cannot be kept in a variable");
      t = poison();
    }
    if (x.value->type->is_owned() && is_place(*x.value) && !x.value->is<move_expr>()) {
      auto& d = error("D0901", x.value->at,
                      "a " + x.value->type->name + " has one owner and is not copied");
      const name_expr* const n = x.value->get<name_expr>();
      const member_expr* const m = x.value->get<member_expr>();
      d.hint = "write 'move " +
               std::string(n != nullptr   ? n->name
                           : m != nullptr ? m->name
                                          : "") +
               "' to give it to the new variable";
    }
  } else if (t != nullptr && t->owning == owning::borrowed) {
    error("D0501", at, "a view needs its value at once");
  }
  x.var = declare(x.name, x.name_at, t, x.is_var);
}

void checker::check_function(function& f) {
  if (f.decl->is_extern()) return;
  function_ = &f;
  loops_ = scopes_ = 0;
  action_ = nullptr;
  outer_names_ = 0;
  for (param& p : f.decl->params) {
    if (!p.fallback) continue;
    check_value(*p.fallback, p.var->type, "the parameter");
    if (!p.fallback->is_constant && !p.fallback->is<text_expr>() && !p.fallback->is<none_expr>() &&
        p.fallback->means != meaning::constant && !p.fallback->type->is(kind::poison))
      error("D0004", p.fallback->at, "a default is a constant");
  }
  {
    const names_here scope(*this);
    for (variable* v : f.params) {
      if (const auto found = module_.names.find(v->name); found != module_.names.end()) {
        auto& d =
            error("D1401", v->at, quoted(v->name) + " hides what has this name in the module");
        d.notes.push_back({found->second.decl->name_at, "declared here"});
      } else if (module_.uses_builtin(v->name) || module_.used(v->name) != nullptr ||
                 v->name == "error" || is_generic(v->name) ||
                 (types_.find(v->name) != nullptr && v->name != "mode")) {
        error("D1401", v->at, quoted(v->name) + " has a meaning of its own already");
      }
      scope_.push_back(v);
    }
    check_block(f.decl->body);
  }
  if (!f.result->is(kind::void_) && !f.result->is(kind::poison) && !leaves(f.decl->body)) {
    span end = f.decl->body.at;
    if (end) end.begin = end.end - 1;
    auto& d = error(
        "D0004", end,
        quoted(f.name) + " gives a " + f.result->name + ", and its end is reached without one");
    d.notes.push_back({f.decl->at, "it is declared here"});
  }
  function_ = nullptr;
}

void check_types(program& p, source::diagnostics& report) {
  for (const auto& m : p.modules) {
    checker c(p, *m, report);
    for (const auto& e : m->enums) c.check_enum(*e);
  }
  for (const auto& m : p.modules) {
    checker c(p, *m, report);
    for (const auto& x : m->constants) c.check_constant(*x);
    for (const auto& f : m->functions) c.check_function(*f);
  }
}

}  // namespace heddle::draft
