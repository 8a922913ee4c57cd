// SPDX-License-Identifier: MIT
// Values in C++: literals, names, arithmetic, comparisons, parts.
#include "draft/c_names.hh"
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/checker.hh"

namespace heddle::draft {

cc_expr cc_emitter::text(const expr& e) {
  if (const auto found = done_.find(&e); found != done_.end()) return found->second;
  cc_expr s = plain_text(e);
  if (e.to == nullptr || e.to == e.type || e.is_constant) return s;
  if (e.to->is_integer()) return cc_expr(type_text(*e.to, e.at) + "{" + s.alone() + "}");
  return s;
}

cc_expr cc_emitter::constant_text(const type& t, __int128 n, span at) {
  if (t.is(kind::boolean)) return cc_expr(n != 0 ? "true" : "false");
  if (t.is(kind::enumeration)) {
    for (const enumeration::value& v : t.values->values)
      if (v.number == n) return cc_expr(type_text(t, at) + "::" + safe(v.name));
    return cc_expr("static_cast<" + type_text(t, at) + ">(" + to_decimal(n) + ")");
  }
  if (t.is(kind::duration)) return cc_duration(static_cast<std::int64_t>(n));
  if (n == INT64_MIN) return cc_expr("INT64_MIN");
  return cc_expr(n > INT64_MAX ? to_decimal(n) + "u" : to_decimal(n),
                 n < 0 ? cc_rank::prefix : cc_rank::primary);
}

cc_expr cc_emitter::number_text(const expr& e) {
  const type& t = e.to != nullptr && !e.to->is(kind::optional) ? *e.to : *e.type;
  if ((e.kind == expr_kind::name || e.kind == expr_kind::member) && e.means == meaning::constant)
    return name_text(e);
  if (e.kind == expr_kind::name && e.means == meaning::local) return name_text(e);
  return constant_text(t, e.number, e.at);
}

cc_expr cc_emitter::literal_text(const expr& e) {
  const std::string quoted = cc_quoted(e.text_value);
  const type& to = e.to != nullptr ? *e.to : *e.type;
  if (e.text_value.find('\0') == std::string::npos) return cc_expr(quoted);
  const std::string view =
      "std::string_view(" + quoted + ", " + std::to_string(e.text_value.size()) + ")";
  const bool made = to.is(kind::bytes) || to.is(kind::text);
  return cc_expr(made ? type_text(to, e.at) + "(" + view + ")" : view);
}

cc_expr cc_emitter::name_text(const expr& e) {
  if (e.means == meaning::local) {
    const cc_expr s = place_text(e);
    return e.moves ? cc_call("std::move", {s}) : s;
  }
  // A constant: of this module, or of another one, or of C.
  for (const auto& m : program_.modules)
    for (const auto& c : m->constants)
      if (c->decl->name == e.name &&
          (e.kind == expr_kind::name ? m.get() == module_ : m->name == e.a->name)) {
        if (c->foreign) return cc_expr(std::string(c->decl->name));
        return cc_expr(scoped(m.get(), safe(std::string(c->decl->name))));
      }
  return e.is_constant ? constant_text(*e.type, e.number, e.at) : literal_text(e);
}

cc_expr cc_emitter::place_text(const expr& e) {
  switch (e.kind) {
    case expr_kind::name: {
      const auto inside = texts_.find(e.var);
      return inside == texts_.end() ? cc_expr(name_of(*e.var)) : inside->second;
    }
    case expr_kind::member:
      return cc_member(place_text(*e.a), safe(std::string(e.name)));
    case expr_kind::index: {
      const cc_expr base = place_text(*e.a);
      return cc_call("draft::at", {base, text(*e.b)});
    }
    default:
      stop(e.at, "this place");
  }
}

cc_expr cc_emitter::plain_text(const expr& e) {
  if (e.is_constant) return number_text(e);
  switch (e.kind) {
    case expr_kind::text:
      return literal_text(e);
    case expr_kind::none:
      return cc_expr("std::nullopt");
    case expr_kind::name:
      return name_text(e);
    case expr_kind::member:
      if (e.means == meaning::error_name)
        return cc_expr("draft::error(" + c_text(std::string(e.name)) + ")");
      if (e.means == meaning::constant) return name_text(e);
      if (e.means == meaning::operation) return operation_text(e);
      if (e.means != meaning::field) break;
      if (is_c_text(e)) return cc_call("draft::text_in", {place_text(e)});
      return cc_member(text(*e.a), safe(std::string(e.name)));
    case expr_kind::index:
      return index_text(e);
    case expr_kind::unary:
      return unary_text(e);
    case expr_kind::binary:
      return binary_text(e);
    case expr_kind::list:
      return list_text(e);
    case expr_kind::try_:
      return text(*e.a);
    case expr_kind::move:
      return cc_call("std::move", {place_text(*e.a)});
    case expr_kind::spawn:
      return spawn_text(e);
    case expr_kind::or_else:
      return or_text(e, "got");
    case expr_kind::call:
      return call_text(e);
    default:
      break;
  }
  stop(e.at, "this expression");
}

cc_expr cc_emitter::index_text(const expr& e) {
  if (e.b->kind != expr_kind::range) {
    return cc_call("draft::at", operands({e.a.get(), e.b.get()}));
  }
  std::vector<const expr*> list = {e.a.get()};
  if (e.b->a) list.push_back(e.b->a.get());
  if (e.b->b) list.push_back(e.b->b.get());
  std::vector<cc_expr> t = operands(list);
  if (!e.b->a) t.insert(t.begin() + 1, cc_expr("0"));
  return cc_call("draft::part", t);
}

cc_expr cc_emitter::list_text(const expr& e) {
  std::vector<const expr*> list;
  for (const argument& a : e.args) list.push_back(a.value.get());
  std::string out;
  for (const cc_expr& t : operands(list)) out += (out.empty() ? "" : ", ") + t.alone();
  return cc_expr(type_text(*e.type, e.at) + "{" + out + "}");
}

cc_expr cc_emitter::unary_text(const expr& e) {
  const cc_expr a = text(*e.a);
  if (e.op == word::s_not) return cc_prefix("!", a);
  if (e.op == word::s_sub) return cc_call("draft::negate", {a});
  const cc_expr inverted = cc_prefix("~", a);
  if (e.type->bits() == 64) return inverted;
  return cc_call("static_cast<" + type_text(*e.type, e.at) + ">", {inverted});
}

cc_expr cc_emitter::checked(word op, const type& t, const expr* left, const cc_expr& a,
                            const cc_expr& b, span at) {
  const char* const name = op == word::s_add        ? "add"
                           : op == word::s_sub      ? "sub"
                           : op == word::s_mul      ? "mul"
                           : op == word::s_div      ? "div"
                           : op == word::s_mod      ? "mod"
                           : op == word::s_shl      ? "shift_left"
                           : op == word::s_shr      ? "shift_right"
                           : op == word::s_add_wrap ? "wrapping_add"
                           : op == word::s_sub_wrap ? "wrapping_sub"
                                                    : "wrapping_mul";
  // A number alone would be an int.
  const bool bare = left != nullptr && left->is_constant && !t.is(kind::duration) &&
                    left->type->is_integer() &&
                    !(left->kind == expr_kind::name && left->means == meaning::local);
  return cc_call(std::string("draft::") + name + (bare ? "<" + type_text(t, at) + ">" : ""),
                 {a, b});
}

cc_expr cc_emitter::logic_text(const expr& e) {
  if (!grows(*e.b) && !holds_wait(*e.b)) {
    const cc_expr a = text(*e.a);
    return cc_infix(a, e.op == word::s_andand ? "&&" : "||", text(*e.b));
  }
  const cc_expr a = text(*e.a);
  const std::string name = fresh("both");
  line("bool " + name + " = " + a.alone() + ";");
  out_.open("if (" + std::string(e.op == word::s_andand ? "" : "!") + name + ")");
  const cc_expr b = text(*e.b);
  line(name + " = " + b.alone() + ";");
  out_.close();
  return cc_expr(name);
}

cc_expr cc_emitter::binary_text(const expr& e) {
  if (e.op == word::s_andand || e.op == word::s_oror) return logic_text(e);
  if (e.b->type->is(kind::none)) {
    const cc_expr has(text(*e.a).primary() + ".has_value()");
    return e.op == word::s_eq ? cc_prefix("!", has) : has;
  }
  const std::vector<cc_expr> t = operands({e.a.get(), e.b.get()});
  const cc_expr &a = t[0], &b = t[1];
  const type& left = *(e.a->to != nullptr ? e.a->to : e.a->type);
  switch (e.op) {
    case word::s_add:
    case word::s_sub:
    case word::s_mul:
    case word::s_div:
    case word::s_mod:
    case word::s_shl:
    case word::s_shr:
    case word::s_add_wrap:
    case word::s_sub_wrap:
    case word::s_mul_wrap:
      return checked(e.op, left.is(kind::duration) ? left : *e.type, e.a.get(), a, b, e.at);
    case word::s_and:
    case word::s_pipe:
    case word::s_xor: {
      const cc_expr both = cc_infix(a, std::string(spelling(e.op)), b);
      if (e.type->bits() == 64) return both;
      return cc_call("static_cast<" + type_text(*e.type, e.at) + ">", {both});
    }
    default:
      break;
  }
  const std::string op(spelling(e.op));
  if (left.is(kind::view)) {
    // One side at least has to be of a class, or C++ would compare addresses.
    const bool literals = e.a->kind == expr_kind::text && e.b->kind == expr_kind::text;
    const bool same = e.a->type->is(kind::view) || e.b->type->is(kind::view) ||
                      e.a->kind == expr_kind::text || e.b->kind == expr_kind::text;
    return cc_infix(literals || !same ? cc_call("std::string_view", {a}) : a, op, b);
  }
  // Two constants were folded; a number alone is an int, which is compared as any other.
  return cc_infix(a, op, b);
}

}  // namespace heddle::draft
