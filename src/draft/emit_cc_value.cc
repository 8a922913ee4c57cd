// SPDX-License-Identifier: MIT
// Values in C++: literals, names, arithmetic, comparisons, parts.
#include "draft/c_names.hh"
#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/checker.hh"

namespace heddle::draft {

std::string cc_emitter::text(const expr& e) {
  if (const auto found = done_.find(&e); found != done_.end()) return found->second;
  std::string s = plain_text(e);
  if (e.to == nullptr || e.to == e.type || e.is_constant) return s;
  if (e.to->is_integer()) return type_text(*e.to, e.at) + "{" + s + "}";
  return s;
}

std::string cc_emitter::constant_text(const type& t, __int128 n, span at) {
  if (t.is(kind::boolean)) return n != 0 ? "true" : "false";
  if (t.is(kind::enumeration)) {
    for (const enumeration::value& v : t.values->values)
      if (v.number == n) return type_text(t, at) + "::" + safe(v.name);
    return "static_cast<" + type_text(t, at) + ">(" + to_decimal(n) + ")";
  }
  if (t.is(kind::duration)) return cc_duration(static_cast<std::int64_t>(n));
  if (n == INT64_MIN) return "INT64_MIN";
  return n > INT64_MAX ? to_decimal(n) + "u" : to_decimal(n);
}

std::string cc_emitter::number_text(const expr& e) {
  const type& t = e.to != nullptr && !e.to->is(kind::optional) ? *e.to : *e.type;
  if ((e.kind == expr_kind::name || e.kind == expr_kind::member) && e.means == meaning::constant)
    return name_text(e);
  if (e.kind == expr_kind::name && e.means == meaning::local) return name_text(e);
  return constant_text(t, e.number, e.at);
}

std::string cc_emitter::literal_text(const expr& e) {
  const std::string quoted = cc_quoted(e.text_value);
  const type& to = e.to != nullptr ? *e.to : *e.type;
  if (e.text_value.find('\0') == std::string::npos) return quoted;
  const std::string view =
      "std::string_view(" + quoted + ", " + std::to_string(e.text_value.size()) + ")";
  return to.is(kind::bytes) || to.is(kind::text) ? type_text(to, e.at) + "(" + view + ")" : view;
}

std::string cc_emitter::name_text(const expr& e) {
  if (e.means == meaning::local) {
    const auto inside = texts_.find(e.var);
    const std::string s = inside == texts_.end() ? name_of(*e.var) : inside->second;
    return e.moves ? "std::move(" + s + ")" : s;
  }
  // A constant: of this module, or of another one, or of C.
  for (const auto& m : program_.modules)
    for (const auto& c : m->constants)
      if (c->decl->name == e.name &&
          (e.kind == expr_kind::name ? m.get() == module_ : m->name == e.a->name)) {
        if (c->foreign) return std::string(c->decl->name);
        return scoped(m.get(), safe(std::string(c->decl->name)));
      }
  return e.is_constant ? constant_text(*e.type, e.number, e.at) : literal_text(e);
}

std::string cc_emitter::place_text(const expr& e) {
  switch (e.kind) {
    case expr_kind::name: {
      const auto inside = texts_.find(e.var);
      return inside == texts_.end() ? name_of(*e.var) : inside->second;
    }
    case expr_kind::member:
      return cc_member(place_text(*e.a), safe(std::string(e.name)));
    case expr_kind::index: {
      const std::string base = place_text(*e.a);
      return "draft::at(" + base + ", " + text(*e.b) + ")";
    }
    default:
      stop(e.at, "this place");
  }
}

std::string cc_emitter::plain_text(const expr& e) {
  if (e.is_constant) return number_text(e);
  switch (e.kind) {
    case expr_kind::text:
      return literal_text(e);
    case expr_kind::none:
      return "std::nullopt";
    case expr_kind::name:
      return name_text(e);
    case expr_kind::member:
      if (e.means == meaning::error_name)
        return "draft::error(" + c_text(std::string(e.name)) + ")";
      if (e.means == meaning::constant) return name_text(e);
      if (e.means == meaning::operation) return operation_text(e);
      if (e.means != meaning::field) break;
      if (is_c_text(e)) return "draft::text_in(" + place_text(e) + ")";
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
      return "std::move(" + place_text(*e.a) + ")";
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

std::string cc_emitter::index_text(const expr& e) {
  if (e.b->kind != expr_kind::range) {
    const std::vector<std::string> t = operands({e.a.get(), e.b.get()});
    return "draft::at(" + t[0] + ", " + t[1] + ")";
  }
  std::vector<const expr*> list = {e.a.get()};
  if (e.b->a) list.push_back(e.b->a.get());
  if (e.b->b) list.push_back(e.b->b.get());
  const std::vector<std::string> t = operands(list);
  std::string from = e.b->a ? t[1] : "0";
  const std::string to = e.b->b ? ", " + t.back() : "";
  return "draft::part(" + t[0] + ", " + from + to + ")";
}

std::string cc_emitter::list_text(const expr& e) {
  std::vector<const expr*> list;
  for (const argument& a : e.args) list.push_back(a.value.get());
  std::string out;
  for (const std::string& t : operands(list)) out += (out.empty() ? "" : ", ") + t;
  return type_text(*e.type, e.at) + "{" + out + "}";
}

std::string cc_emitter::unary_text(const expr& e) {
  const std::string a = text(*e.a);
  if (e.op == word::s_not) return "!" + cc_wrapped(a);
  if (e.op == word::s_tilde)
    return e.type->bits() == 64
               ? "~" + cc_wrapped(a)
               : "static_cast<" + type_text(*e.type, e.at) + ">(~" + cc_wrapped(a) + ")";
  return "draft::negate(" + a + ")";
}

std::string cc_emitter::checked(word op, const type& t, const expr* left, const std::string& a,
                                const std::string& b, span at) {
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
  return std::string("draft::") + name + (bare ? "<" + type_text(t, at) + ">" : "") + "(" + a +
         ", " + b + ")";
}

std::string cc_emitter::logic_text(const expr& e) {
  const std::string op = e.op == word::s_andand ? " && " : " || ";
  const auto side = [&](const expr& x) {
    const std::string s = text(x);
    const bool other = x.kind == expr_kind::binary && x.op != e.op &&
                       (x.op == word::s_andand || x.op == word::s_oror);
    return other ? "(" + s + ")" : s;
  };
  if (!grows(*e.b) && !holds_wait(*e.b)) {
    const std::string a = side(*e.a);
    return a + op + side(*e.b);
  }
  const std::string a = text(*e.a), name = fresh("both");
  line("bool " + name + " = " + a + ";");
  out_.open("if (" + std::string(e.op == word::s_andand ? "" : "!") + name + ")");
  const std::string b = text(*e.b);
  line(name + " = " + b + ";");
  out_.close();
  return name;
}

std::string cc_emitter::binary_text(const expr& e) {
  if (e.op == word::s_andand || e.op == word::s_oror) return logic_text(e);
  if (e.b->type->is(kind::none)) {
    const std::string a = text(*e.a);
    return (e.op == word::s_eq ? "!" : "") + cc_primary(a) + ".has_value()";
  }
  const std::vector<std::string> t = operands({e.a.get(), e.b.get()});
  const std::string &a = t[0], &b = t[1];
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
      const std::string both =
          cc_wrapped(a) + " " + std::string(spelling(e.op)) + " " + cc_wrapped(b);
      if (e.type->bits() == 64) return both;
      return "static_cast<" + type_text(*e.type, e.at) + ">(" + both + ")";
    }
    default:
      break;
  }
  const std::string op = " " + std::string(spelling(e.op)) + " ";
  if (left.is(kind::view)) {
    // One side at least has to be of a class, or C++ would compare addresses.
    const bool literals = e.a->kind == expr_kind::text && e.b->kind == expr_kind::text;
    const bool same = e.a->type->is(kind::view) || e.b->type->is(kind::view) ||
                      e.a->kind == expr_kind::text || e.b->kind == expr_kind::text;
    return (literals || !same ? "std::string_view(" + a + ")" : cc_wrapped(a)) + op + cc_wrapped(b);
  }
  // Two constants were folded; a number alone is an int, which is compared as any other.
  return cc_wrapped(a) + op + cc_wrapped(b);
}

}  // namespace heddle::draft
