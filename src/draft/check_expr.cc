// SPDX-License-Identifier: MIT
// Types of expressions: the meaning of each name and member, and which conversions happen.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

bool is_namespace(std::string_view name) noexcept {
  return name == "net" || name == "fs" || name == "time" || name == "log" || name == "rand";
}

bool like_view(const type& t) noexcept {
  return t.is(kind::view) || t.is(kind::bytes) || t.is(kind::text);
}

variable* checker::find_variable(std::string_view name) noexcept {
  for (std::size_t i = scope_.size(); i-- != 0;)
    if (scope_[i]->name == name) return scope_[i];
  return nullptr;
}

variable* checker::root_of(const expr& e) noexcept {
  const expr* at = &e;
  while (at != nullptr) {
    switch (at->kind) {
      case expr_kind::name:
        return at->means == meaning::local ? at->var : nullptr;
      case expr_kind::member:
        if (at->means != meaning::field) return nullptr;
        at = at->a.get();
        break;
      case expr_kind::index:
        at = at->a.get();
        break;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

bool checker::is_place(const expr& e) const noexcept { return root_of(e) != nullptr; }

bool checker::is_temporary(const expr& e) const noexcept {
  if (is_place(e) || e.kind == expr_kind::text || e.means == meaning::constant) return false;
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
  return e.to != nullptr ? e.to : e.type;
}

bool checker::converts(const expr& e, const type* want) const {
  const type& from = *e.type;
  if (&from == want || from.is(kind::poison) || want->is(kind::poison)) return true;
  switch (want->kind) {
    case kind::view:
      return like_view(from) || from.is(kind::buffer);
    case kind::bytes:
    case kind::text:
      if (e.kind == expr_kind::text || (e.means == meaning::constant && from.is(kind::view)))
        return want->is(kind::bytes) || e.text_value.size() <= want->count;
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
  if (want->is(kind::text) && e.kind == expr_kind::text) {
    error("D1102", e.at,
          "these " + std::to_string(e.text_value.size()) + " bytes do not fit in " + want->name);
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
  struct deeper {
    explicit deeper(std::uint32_t& d) : depth(d) { ++depth; }
    ~deeper() { --depth; }
    std::uint32_t& depth;
  } const here(depth_);
  e.to = nullptr;
  switch (e.kind) {
    case expr_kind::bad:
      return wrong(e);
    case expr_kind::name:
      return check_name(e, want);
    case expr_kind::integer: {
      e.is_constant = true;
      e.number = e.value;
      e.type =
          types_.basic(e.value > static_cast<std::uint64_t>(INT64_MAX) ? kind::u64 : kind::i64);
      return e.type;
    }
    case expr_kind::duration:
      e.is_constant = true;
      e.number = e.value;
      e.type = types_.basic(kind::duration);
      return e.type;
    case expr_kind::text:
      e.type = types_.basic(kind::view);
      return e.type;
    case expr_kind::boolean:
      e.is_constant = true;
      e.number = e.value;
      e.type = types_.basic(kind::boolean);
      return e.type;
    case expr_kind::none:
      e.type = types_.basic(kind::none);
      if (want == nullptr || !want->is(kind::optional)) {
        if (want == nullptr || !want->is(kind::poison))
          error("D0004", e.at, "'none' is an optional that has nothing, and none is wanted here");
        return wrong(e);
      }
      return e.type;
    case expr_kind::list:
      return check_list(e, want);
    case expr_kind::call:
      return check_call(e, want);
    case expr_kind::index:
      return check_index(e);
    case expr_kind::member:
      return check_member(e, want);
    case expr_kind::unary:
      return check_unary(e, want);
    case expr_kind::binary:
      return check_binary(e, want);
    case expr_kind::range:
      if (e.a) check_value(*e.a, types_.basic(kind::i64), "a range");
      if (e.b) check_value(*e.b, types_.basic(kind::i64), "a range");
      e.type = types_.basic(kind::range);
      return e.type;
    case expr_kind::try_:
      return check_try(e, want);
    case expr_kind::move:
      return check_move(e, want);
    case expr_kind::spawn:
      return check_spawn(e);
    case expr_kind::or_else:
      return check_or(e, want);
  }
  return wrong(e);
}

std::string checker::suggest(std::string_view name) const {
  std::vector<std::string> known;
  for (const variable* v : scope_) known.push_back(v->name);
  for (const auto& [n, s] : module_.names) known.emplace_back(n);
  const std::string best = nearest(name, known);
  return best.empty() ? std::string() : "did you mean " + quoted(best) + "?";
}

const type* checker::check_name(expr& e, const type* want) {
  if (want != nullptr && want->is(kind::optional)) want = want->of;
  if (want != nullptr && want->is(kind::enumeration)) {
    for (const enumeration::value& v : want->values->values) {
      if (v.name != e.name) continue;
      e.means = meaning::enumerator;
      e.is_constant = true;
      e.number = v.number;
      return e.type = want;
    }
  }
  if (variable* v = find_variable(e.name)) {
    v->used = true;
    e.means = meaning::local;
    e.var = v;
    return e.type = v->type;
  }
  if (symbol* s = find_symbol(e.name)) {
    if (s->value != nullptr) {
      check_constant(*s->value);
      e.means = meaning::constant;
      e.text_value = s->value->text;
      if (!s->value->foreign &&
          (s->value->type->is_integer() || s->value->type->is(kind::boolean) ||
           s->value->type->is(kind::duration))) {
        e.is_constant = true;
        e.number = s->value->type->is_signed() || s->value->type->is(kind::duration)
                       ? static_cast<__int128>(static_cast<std::int64_t>(s->value->value))
                       : static_cast<__int128>(s->value->value);
      }
      if (s->value->foreign) e.text_value = s->value->c_name;
      return e.type = s->value->type;
    }
    auto& d = error(
        "D0004", e.at,
        quoted(e.name) + (s->fn != nullptr ? " is a function" : " is a type") + ", not a value");
    d.notes.push_back({s->decl->name_at, "it is declared here"});
    if (s->fn != nullptr) d.hint = "call it: " + std::string(e.name) + "(...)";
    return wrong(e);
  }
  auto& d = error("D0003", e.at, "there is no " + quoted(e.name) + " here");
  d.hint = suggest(e.name);
  if (is_namespace(e.name)) d.hint = "write 'use " + std::string(e.name) + "' at the top";
  return wrong(e);
}

symbol* checker::symbol_of(expr& callee, module*& home) {
  home = &module_;
  if (callee.kind == expr_kind::name) {
    if (find_variable(callee.name) != nullptr) return nullptr;
    return find_symbol(callee.name);
  }
  if (callee.kind != expr_kind::member || callee.a->kind != expr_kind::name) return nullptr;
  if (find_variable(callee.a->name) != nullptr) return nullptr;
  module* const m = module_.used(callee.a->name);
  if (m == nullptr) return nullptr;
  home = m;
  const auto found = m->names.find(callee.name);
  if (found == m->names.end()) return nullptr;
  found->second.used = true;
  if (!found->second.decl->is_pub) {
    auto& d =
        error("D0003", callee.at, quoted(callee.name) + " is not public in " + quoted(m->name));
    d.notes.push_back({found->second.decl->name_at, "write 'pub' here"});
  }
  return &found->second;
}

namespace {

bool is_enum(const symbol* s) {
  return s != nullptr && s->type != nullptr && s->type->is(kind::enumeration);
}

}  // namespace

const type* checker::check_enumerator(expr& e, const symbol& of) {
  for (const enumeration::value& v : of.type->values->values) {
    if (v.name != e.name) continue;
    e.means = meaning::enumerator;
    e.is_constant = true;
    e.number = v.number;
    return e.type = of.type;
  }
  auto& d =
      error("D0003", e.name_at, quoted(e.name) + " is no value of the enum " + quoted(e.a->name));
  d.notes.push_back({of.decl->name_at, "it is declared here"});
  return wrong(e);
}

const type* checker::check_member(expr& e, const type*) {
  // error.NAME, ENUM.VALUE, module.CONST, module.ENUM.VALUE
  if (e.a->kind == expr_kind::member && e.a->a->kind == expr_kind::name &&
      find_variable(e.a->a->name) == nullptr) {
    if (module* home = module_.used(e.a->a->name)) {
      const auto found = home->names.find(e.a->name);
      if (found != home->names.end() && is_enum(&found->second))
        return check_enumerator(e, *symbol_of(*e.a, home));
    }
  }
  if (e.a->kind == expr_kind::name && find_variable(e.a->name) == nullptr) {
    if (e.a->name == "error") {
      e.means = meaning::error_name;
      e.value = error_code(e.name);
      for (const auto& [known, code] : program_.errors) {
        if (code != e.value || known == e.name) continue;
        error("D0005", e.at,
              "error." + std::string(e.name) + " and error." + known + " have one code by chance")
            .hint = "rename one of them";
      }
      program_.errors.emplace(e.name, static_cast<std::uint32_t>(e.value));
      return e.type = types_.basic(kind::error);
    }
    module* home = nullptr;
    symbol* s = find_symbol(e.a->name);
    if (is_enum(s)) return check_enumerator(e, *s);
    if ((s = symbol_of(e, home)) != nullptr) {
      if (s->value != nullptr) {
        checker(program_, *home, report_).check_constant(*s->value);
        e.means = meaning::constant;
        e.text_value = s->value->foreign ? s->value->c_name : s->value->text;
        if (!s->value->foreign && !s->value->type->is(kind::view)) {
          e.is_constant = true;
          const type& t = *s->value->type;
          e.number = t.is_signed() || t.is(kind::duration)
                         ? static_cast<__int128>(static_cast<std::int64_t>(s->value->value))
                         : static_cast<__int128>(s->value->value);
        }
        return e.type = s->value->type;
      }
      error("D0004", e.at, quoted(e.name) + " is not a value");
      return wrong(e);
    }
    if (is_namespace(e.a->name) || module_.used(e.a->name) != nullptr) {
      const operation* const op = find_operation(module_named(e.a->name), e.name);
      auto& d =
          error("D0003", e.name_at,
                op != nullptr ? quoted(e.name) + " is a function"
                              : "there is no " + quoted(e.name) + " in " + std::string(e.a->name));
      if (op != nullptr) d.hint = "call it with ( )";
      return wrong(e);
    }
  }
  const type* const of = check(*e.a);
  refuse_fallible(*e.a);
  if (of->is(kind::poison)) return wrong(e);
  if (of->is(kind::record)) {
    const auto& parts = of->record->parts;
    for (std::size_t i = 0; i != parts.size(); ++i) {
      if (parts[i].name != e.name) continue;
      e.means = meaning::field;
      e.value = i;
      return e.type = parts[i].type;
    }
    std::vector<std::string> known;
    for (const auto& p : parts) known.push_back(p.name);
    auto& d =
        error("D0003", e.name_at, "the record " + of->name + " has no field " + quoted(e.name));
    if (const std::string best = nearest(e.name, known); !best.empty())
      d.hint = "did you mean " + quoted(best) + "?";
    return wrong(e);
  }
  if (of->is(kind::array) && e.name == "len") {
    e.is_constant = true;
    e.number = of->count;
    e.means = meaning::constant;
    return e.type = types_.basic(kind::i64);
  }
  const operation* const op = find_operation(receiver_of(of->kind), e.name);
  if (op != nullptr && op->property) {
    e.means = meaning::operation;
    e.op_info = op;
    return e.type = resolve_word(op->result, nullptr);
  }
  auto& d = error("D0003", e.name_at, "a " + of->name + " has no " + quoted(e.name));
  if (op != nullptr) d.hint = "it is called: " + std::string(e.name) + "(...)";
  return wrong(e);
}

}  // namespace heddle::draft
