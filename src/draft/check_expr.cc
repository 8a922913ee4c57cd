// SPDX-License-Identifier: MIT
// Types of expressions: the meaning of each name and member, and which conversions happen.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

bool is_namespace(std::string_view name) noexcept {
  return name == "net" || name == "fs" || name == "time" || name == "log" || name == "rand" ||
         name == "os";
}

bool like_view(const type& t) noexcept {
  return t.is(kind::view) || t.is(kind::bytes) || t.is(kind::text);
}

variable* checker::find_variable(std::string_view name) noexcept {
  for (std::size_t i = scope_.size(); i-- != 0;)
    if (scope_[i]->name == name) return scope_[i];
  return nullptr;
}

variable* checker::root_of(const expr& e) noexcept { return place_root(e); }

bool checker::is_place(const expr& e) const noexcept { return place_root(e) != nullptr; }

bool checker::is_temporary(const expr& e) const noexcept {
  if (is_place(e) || e.is<text_expr>() || e.means == meaning::constant) return false;
  return e.type->needs_release() || e.type->is(kind::text);
}

void checker::refuse_temporary(const expr& e) {
  error("D0004", e.at, "this " + e.type->name + " has no owner").hint =
      "give it a name with 'let' first";
}

void checker::refuse_fallible(expr& e) {
  if (!e.fallible) return;
  auto& d = error("D0401", e.at, "this may be an error, which is ignored here");
  d.hint = "pass it on with 'try', or handle it with 'or'";
  e.fallible = false;
}

const type* checker::check_value(expr& e, const type* want, const char* what) {
  check(e, want);
  refuse_fallible(e);
  if (want != nullptr) convert(e, want, what);
  return e.final_type();
}

bool checker::converts(const expr& e, const type* want) const {
  const type& from = *e.type;
  if (&from == want || from.is(kind::poison) || want->is(kind::poison)) return true;
  switch (want->kind) {
    case kind::view:
      return like_view(from) || from.is(kind::buffer);
    case kind::bytes:
    case kind::text:
      if (e.is<text_expr>() || (e.means == meaning::constant && from.is(kind::view)))
        return want->is(kind::bytes) || bytes_of(e).size() <= want->count;
      return want->is(kind::text) && from.is(kind::text) && from.count <= want->count;
    case kind::optional: {
      if (from.is(kind::none)) return true;
      return !from.is(kind::optional) && converts(e, want->of);
    }
    default:
      break;
  }
  if (!want->is_integer() || !from.is_integer()) return false;
  if (e.is_constant)
    return e.number >= min_of(*want) && e.number <= static_cast<__int128>(max_of(*want));
  if (from.is_signed() == want->is_signed()) return from.bits() <= want->bits();
  return want->is_signed() && from.bits() < want->bits();
}

void checker::convert(expr& e, const type* want, const char* what) {
  const type* const from = e.type;
  if (from == want || from->is(kind::poison) || want->is(kind::poison)) return;
  if (converts(e, want)) {
    const type* const inner = want->is(kind::optional) ? want->of : want;
    if (e.is_constant && inner->is_integer() && from->is_integer()) {
      e.type = inner;
      if (inner == want) return;
    }
    e.to = want;
    return;
  }
  const std::string where = what == nullptr ? "" : std::string(what) + " ";
  if (want->is_integer() && from->is_integer()) {
    if (e.is_constant) {
      error("D1102", e.at, to_decimal(e.number) + " does not fit in " + want->name).hint =
          want->name + " holds " + std::to_string(min_of(*want)) + " to " +
          std::to_string(max_of(*want));
    } else {
      error("D1101", e.at,
            where + "wants " + want->name + ", and " + from->name + " may not fit in it")
          .hint = "write " + want->name + "(...), which is a fault where it does not fit";
    }
    return;
  }
  if (want->is(kind::text) && e.is<text_expr>()) {
    error("D1102", e.at,
          "these " + std::to_string(bytes_of(e).size()) + " bytes do not fit in " + want->name);
    return;
  }
  auto& d = error("D0004", e.at,
                  where + "wants " + want->name + ", and this is " +
                      (from->is(kind::void_) ? "no value" : from->name));
  if (want->is(kind::bytes) && like_view(*from)) d.hint = "copy() makes bytes of a view";
  if (from->is(kind::optional) && from->of == want)
    d.hint = "handle none with 'or', or ask with 'if let'";
  if (want->is(kind::boolean) && from->is_integer()) d.hint = "compare it with 0";
}

const type* checker::check(expr& e, const type* want) {
  const auto constant = [&](kind of, std::uint64_t number) {
    e.is_constant = true;
    e.number = number;
    return e.type = types_.basic(of);
  };
  e.to = nullptr;
  return by_kind(
      e, [&](bad_expr&) { return wrong(e); }, [&](name_expr& x) { return check_name(e, x, want); },
      [&](integer_expr& x) {
        return constant(x.value > static_cast<std::uint64_t>(INT64_MAX) ? kind::u64 : kind::i64,
                        x.value);
      },
      [&](duration_expr& x) { return constant(kind::duration, x.value); },
      [&](boolean_expr& x) { return constant(kind::boolean, x.value ? 1 : 0); },
      [&](text_expr&) { return e.type = types_.basic(kind::view); },
      [&](none_expr&) {
        e.type = types_.basic(kind::none);
        if (want != nullptr && want->is(kind::optional)) return e.type;
        if (want == nullptr || !want->is(kind::poison))
          error("D0004", e.at, "'none' is an optional that has nothing, and none is wanted here");
        return wrong(e);
      },
      [&](list_expr& x) { return check_list(e, x, want); },
      [&](call_expr& x) { return check_call(e, x, want); },
      [&](index_expr& x) { return check_index(e, x); },
      [&](member_expr& x) { return check_member(e, x); },
      [&](unary_expr& x) { return check_unary(e, x, want); },
      [&](binary_expr& x) { return check_binary(e, x, want); },
      [&](range_expr& x) {
        if (x.from) check_value(*x.from, types_.basic(kind::i64), "a range");
        if (x.to) check_value(*x.to, types_.basic(kind::i64), "a range");
        return e.type = types_.basic(kind::range);
      },
      [&](try_expr& x) { return check_try(e, x, want); },
      [&](move_expr& x) { return check_move(e, x, want); },
      [&](spawn_expr& x) { return check_spawn(e, x); },
      [&](or_expr& x) { return check_or(e, x, want); },
      [&](action_expr& x) { return refuse_action(e, x); });
}

std::string checker::suggest(std::string_view name) const {
  std::vector<std::string> known;
  for (const variable* v : scope_) known.push_back(v->name);
  for (const auto& [n, s] : module_.names) known.emplace_back(n);
  const std::string best = nearest(name, known);
  return best.empty() ? std::string() : "did you mean " + quoted(best) + "?";
}

const type* checker::use_constant(expr& e, const constant& c) {
  e.means = meaning::constant;
  if (c.is_number()) {
    e.is_constant = true;
    e.number = c.number();
  }
  return e.type = c.type;
}

const type* checker::check_name(expr& e, name_expr& x, const type* want) {
  if (want != nullptr && want->is(kind::optional)) want = want->of;
  if (want != nullptr && want->is(kind::enumeration)) {
    for (const enumeration::value& v : want->values->values) {
      if (v.name != x.name) continue;
      e.means = meaning::enumerator;
      e.is_constant = true;
      e.number = v.number;
      return e.type = want;
    }
  }
  if (variable* v = find_variable(x.name)) {
    v->used = true;
    if (v->type->is(kind::action)) {
      error("D0703", e.at, "an action can only be called, or passed down to a parameter").hint =
          "call it: " + v->name + "()";
      return wrong(e);
    }
    e.means = meaning::local;
    x.var = v;
    return e.type = v->type;
  }
  if (symbol* s = find_symbol(x.name)) {
    if (s->value != nullptr) {
      check_constant(*s->value);
      x.value = s->value;
      return use_constant(e, *s->value);
    }
    auto& d = error(
        "D0004", e.at,
        quoted(x.name) + (s->fn != nullptr ? " is a function" : " is a type") + ", not a value");
    d.notes.push_back({s->decl->name_at, "it is declared here"});
    if (s->fn != nullptr) d.hint = "call it: " + std::string(x.name) + "(...)";
    return wrong(e);
  }
  auto& d = error("D0003", e.at, "there is no " + quoted(x.name) + " here");
  d.hint = suggest(x.name);
  if (is_namespace(x.name)) d.hint = "write 'use " + std::string(x.name) + "' at the top";
  return wrong(e);
}

symbol* checker::symbol_of(const expr& callee, module*& home) {
  home = &module_;
  if (const name_expr* const n = callee.get<name_expr>())
    return find_variable(n->name) != nullptr ? nullptr : find_symbol(n->name);
  const member_expr* const x = callee.get<member_expr>();
  const name_expr* const of = x != nullptr ? x->of->get<name_expr>() : nullptr;
  if (of == nullptr || find_variable(of->name) != nullptr) return nullptr;
  module* const m = module_.used(of->name);
  if (m == nullptr) return nullptr;
  home = m;
  const auto found = m->names.find(x->name);
  if (found == m->names.end()) return nullptr;
  found->second.used = true;
  if (!found->second.decl->is_pub) {
    auto& d = error("D0003", callee.at, quoted(x->name) + " is not public in " + quoted(m->name));
    d.notes.push_back({found->second.decl->name_at, "write 'pub' here"});
  }
  return &found->second;
}

namespace {

bool is_enum(const symbol* s) {
  return s != nullptr && s->type != nullptr && s->type->is(kind::enumeration);
}

}  // namespace

const type* checker::check_enumerator(expr& e, const member_expr& x, const type& of) {
  for (const enumeration::value& v : of.values->values) {
    if (v.name != x.name) continue;
    e.means = meaning::enumerator;
    e.is_constant = true;
    e.number = v.number;
    return e.type = &of;
  }
  auto& d = error("D0003", x.name_at,
                  quoted(x.name) + " is no value of the enum " + quoted(of.values->decl->name));
  if (const span declared = of.values->decl->name_at)
    d.notes.push_back({declared, "it is declared here"});
  return wrong(e);
}

const type* checker::check_member(expr& e, member_expr& x) {
  // error.NAME, ENUM.VALUE, module.CONST, module.ENUM.VALUE
  if (const member_expr* const inner = x.of->get<member_expr>()) {
    const name_expr* const first = inner->of->get<name_expr>();
    if (first != nullptr && find_variable(first->name) == nullptr) {
      if (module* home = module_.used(first->name)) {
        const auto found = home->names.find(inner->name);
        if (found != home->names.end() && is_enum(&found->second))
          return check_enumerator(e, x, *symbol_of(*x.of, home)->type);
      }
    }
  }
  if (const name_expr* const on = x.of->get<name_expr>();
      on != nullptr && find_variable(on->name) == nullptr) {
    if (on->name == "error") {
      const std::uint32_t code = error_code(x.name);
      e.means = meaning::error_name;
      e.number = code;
      for (const auto& [known, other] : program_.errors) {
        if (other != code || known == x.name) continue;
        error("D0005", e.at,
              "error." + std::string(x.name) + " and error." + known + " have one code by chance")
            .hint = "rename one of them";
      }
      program_.errors.emplace(x.name, code);
      return e.type = types_.basic(kind::error);
    }
    module* home = nullptr;
    symbol* s = find_symbol(on->name);
    if (is_enum(s)) return check_enumerator(e, x, *s->type);
    if (s == nullptr && on->name == "mode") return check_enumerator(e, x, *types_.mode());
    if ((s = symbol_of(e, home)) != nullptr) {
      if (s->value != nullptr) {
        checker(program_, *home, report_).check_constant(*s->value);
        x.value = s->value;
        return use_constant(e, *s->value);
      }
      error("D0004", e.at, quoted(x.name) + " is not a value");
      return wrong(e);
    }
    if (is_namespace(on->name) || module_.used(on->name) != nullptr) {
      const operation* const op = find_operation(module_named(on->name), x.name);
      auto& d =
          error("D0003", x.name_at,
                op != nullptr ? quoted(x.name) + " is a function"
                              : "there is no " + quoted(x.name) + " in " + std::string(on->name));
      if (op != nullptr) d.hint = "call it with ( )";
      return wrong(e);
    }
  }
  const type* const of = check(*x.of);
  refuse_fallible(*x.of);
  if (of->is(kind::poison)) return wrong(e);
  if (of->is(kind::record)) {
    const auto& parts = of->record->parts;
    for (std::size_t i = 0; i != parts.size(); ++i) {
      if (parts[i].name != x.name) continue;
      e.means = meaning::field;
      x.field = i;
      return e.type = parts[i].type;
    }
    std::vector<std::string> known;
    for (const auto& p : parts) known.push_back(p.name);
    auto& d =
        error("D0003", x.name_at, "the record " + of->name + " has no field " + quoted(x.name));
    if (const std::string best = nearest(x.name, known); !best.empty())
      d.hint = "did you mean " + quoted(best) + "?";
    return wrong(e);
  }
  if (of->is(kind::array) && x.name == "len") {
    e.is_constant = true;
    e.number = of->count;
    e.means = meaning::constant;
    return e.type = types_.basic(kind::i64);
  }
  const operation* const op = find_operation(receiver_of(of->kind), x.name);
  if (op != nullptr && op->property) {
    e.means = meaning::operation;
    x.op = op;
    return e.type = resolve_word(op->result, nullptr);
  }
  auto& d = error("D0003", x.name_at, "a " + of->name + " has no " + quoted(x.name));
  if (op != nullptr) d.hint = "it is called: " + std::string(x.name) + "(...)";
  return wrong(e);
}

}  // namespace heddle::draft
