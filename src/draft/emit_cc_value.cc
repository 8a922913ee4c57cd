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
  if (e.means == meaning::constant || e.means == meaning::local) return name_text(e);
  return constant_text(t, e.number, e.at);
}

cc_expr cc_emitter::literal_text(const expr& e) {
  const std::string& bytes = bytes_of(e);
  const std::string quoted = cc_quoted(bytes);
  const type& to = *e.final_type();
  if (bytes.find('\0') == std::string::npos) return cc_expr(quoted);
  const std::string view = "std::string_view(" + quoted + ", " + std::to_string(bytes.size()) + ")";
  const bool made = to.is(kind::bytes) || to.is(kind::text);
  return cc_expr(made ? type_text(to, e.at) + "(" + view + ")" : view);
}

cc_expr cc_emitter::name_text(const expr& e) {
  const name_expr* const n = e.get<name_expr>();
  if (n != nullptr && n->var != nullptr) {
    const cc_expr s = place_text(e);
    return n->moves ? cc_call("std::move", {s}) : s;
  }
  // A constant: of this module, or of another one, or of C.
  if (const constant* const c = n != nullptr ? n->value : e.as<member_expr>().value) {
    if (c->foreign()) return cc_expr(std::string(c->decl->name));
    return cc_expr(scoped(c->home, safe(std::string(c->decl->name))));
  }
  return constant_text(*e.type, e.number, e.at);  // the length of an array
}

cc_expr cc_emitter::place_text(const expr& e) {
  if (const variable* const v = e.local()) {
    const auto inside = texts_.find(v);
    return inside == texts_.end() ? cc_expr(name_of(*v)) : inside->second;
  }
  if (const member_expr* const m = e.get<member_expr>())
    return cc_member(place_text(*m->of), safe(std::string(m->name)));
  if (const index_expr* const i = e.get<index_expr>()) {
    const cc_expr base = place_text(*i->of);
    return cc_call("draft::at", {base, text(*i->at)});
  }
  stop(e.at, "this place");
}

cc_expr cc_emitter::plain_text(const expr& e) {
  if (e.is_constant) return number_text(e);
  return by_kind(
      e, [&](const text_expr&) { return literal_text(e); },
      [&](const none_expr&) { return cc_expr("std::nullopt"); },
      [&](const name_expr&) { return name_text(e); },
      [&](const member_expr& x) {
        if (e.means == meaning::error_name)
          return cc_expr("draft::error(" + c_text(std::string(x.name)) + ")");
        if (e.means == meaning::constant) return name_text(e);
        if (e.means == meaning::operation) return operation_text(e);
        if (is_c_text(e)) return cc_call("draft::text_in", {place_text(e)});
        return cc_member(text(*x.of), safe(std::string(x.name)));
      },
      [&](const index_expr& x) { return index_text(x); },
      [&](const unary_expr& x) { return unary_text(e, x); },
      [&](const binary_expr& x) { return binary_text(e, x); },
      [&](const list_expr& x) { return list_text(e, x); },
      [&](const try_expr& x) { return text(*x.of); },
      [&](const move_expr& x) { return cc_call("std::move", {place_text(*x.of)}); },
      [&](const spawn_expr& x) { return spawn_text(e, x); },
      [&](const or_expr& x) { return or_text(e, x, "got"); },
      [&](const call_expr&) { return call_text(e); },
      [&](const action_expr& x) { return action_text(e, x); },
      [&](const one_of<bad_expr, integer_expr, duration_expr, boolean_expr, range_expr> auto&)
          -> cc_expr { stop(e.at, "this expression"); });
}

cc_expr cc_emitter::index_text(const index_expr& x) {
  const range_expr* const range = x.at->get<range_expr>();
  if (range == nullptr) return cc_call("draft::at", operands({x.of.get(), x.at.get()}));
  std::vector<const expr*> list = {x.of.get()};
  if (range->from) list.push_back(range->from.get());
  if (range->to) list.push_back(range->to.get());
  std::vector<cc_expr> t = operands(list);
  if (!range->from) t.insert(t.begin() + 1, cc_expr("0"));
  return cc_call("draft::part", t);
}

cc_expr cc_emitter::list_text(const expr& e, const list_expr& x) {
  std::vector<const expr*> list;
  for (const argument& a : x.elements) list.push_back(a.value.get());
  std::string out;
  for (const cc_expr& t : operands(list)) out += (out.empty() ? "" : ", ") + t.alone();
  return cc_expr(type_text(*e.type, e.at) + "{" + out + "}");
}

cc_expr cc_emitter::unary_text(const expr& e, const unary_expr& x) {
  const cc_expr a = text(*x.of);
  if (x.op == word::s_not) return cc_prefix("!", a);
  if (x.op == word::s_sub) return cc_call("draft::negate", {a});
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
                    left->type->is_integer() && left->local() == nullptr;
  return cc_call(std::string("draft::") + name + (bare ? "<" + type_text(t, at) + ">" : ""),
                 {a, b});
}

cc_expr cc_emitter::logic_text(const binary_expr& x) {
  if (!grows(*x.right) && !holds_wait(*x.right)) {
    const cc_expr a = text(*x.left);
    return cc_infix(a, x.op == word::s_andand ? "&&" : "||", text(*x.right));
  }
  const cc_expr a = text(*x.left);
  const std::string name = fresh("both");
  line("bool " + name + " = " + a.alone() + ";");
  out_.open("if (" + std::string(x.op == word::s_andand ? "" : "!") + name + ")");
  const cc_expr b = text(*x.right);
  line(name + " = " + b.alone() + ";");
  out_.close();
  return cc_expr(name);
}

cc_expr cc_emitter::binary_text(const expr& e, const binary_expr& x) {
  if (x.op == word::s_andand || x.op == word::s_oror) return logic_text(x);
  if (x.right->type->is(kind::none)) {
    const cc_expr has(text(*x.left).primary() + ".has_value()");
    return x.op == word::s_eq ? cc_prefix("!", has) : has;
  }
  const std::vector<cc_expr> t = operands({x.left.get(), x.right.get()});
  const cc_expr &a = t[0], &b = t[1];
  const type& left = *(x.left->final_type());
  switch (x.op) {
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
      return checked(x.op, left.is(kind::duration) ? left : *e.type, x.left.get(), a, b, e.at);
    case word::s_and:
    case word::s_pipe:
    case word::s_xor: {
      const cc_expr both = cc_infix(a, std::string(spelling(x.op)), b);
      if (e.type->bits() == 64) return both;
      return cc_call("static_cast<" + type_text(*e.type, e.at) + ">", {both});
    }
    default:
      break;
  }
  const std::string op(spelling(x.op));
  if (left.is(kind::view)) {
    // One side at least has to be of a class, or C++ would compare addresses.
    const bool literals = x.left->is<text_expr>() && x.right->is<text_expr>();
    const bool same = x.left->type->is(kind::view) || x.right->type->is(kind::view) ||
                      x.left->is<text_expr>() || x.right->is<text_expr>();
    return cc_infix(literals || !same ? cc_call("std::string_view", {a}) : a, op, b);
  }
  // Two constants were folded; a number alone is an int, which is compared as any other.
  return cc_infix(a, op, b);
}

}  // namespace heddle::draft
