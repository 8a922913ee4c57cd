// SPDX-License-Identifier: MIT
// Values in C.
#include "draft/c_emitter.hh"
#include "draft/checker.hh"

namespace heddle::draft {

std::string c_emitter::constant_text(const type& t, __int128 n) {
  if (t.is(kind::boolean)) return n != 0 ? "true" : "false";
  if (t.is(kind::enumeration) && !t.values->decl->is_extern()) {
    for (const enumeration::value& v : t.values->values)
      if (v.number == n) return t.values->c_name + "_" + v.name;
  }
  if (t.is(kind::enumeration)) return "(" + c_type(t) + ")" + to_decimal(n);
  if (is_pointer(t)) return "NULL";
  if (n == INT64_MIN) return "INT64_MIN";
  const bool wide = n > INT32_MAX || n < -INT32_MAX;
  if (t.is_integer() && !t.is_signed() && t.bits() == 64) return "UINT64_C(" + to_decimal(n) + ")";
  if (t.is_integer() && !t.is_signed() && t.bits() == 32) return to_decimal(n) + "u";
  return wide ? "INT64_C(" + to_decimal(n) + ")" : to_decimal(n);
}

std::string c_emitter::slot_text(var_id id) {
  const slot& s = flow_->slots[id];
  const std::string name = id == flow_->status ? "status" : c_name(s.name);
  std::string where = s.in_frame ? "f->" + name : name;
  return s.by_reference && !is_own_address(*s.type) ? "(*" + where + ")" : where;
}

std::string c_emitter::address_text(const value& v) {
  if (const slot_value* const x = v.get<slot_value>()) {
    const slot& s = flow_->slots[x->slot];
    if (s.by_reference && !is_own_address(*s.type))
      return s.in_frame ? "f->" + c_name(s.name) : c_name(s.name);
  }
  return "&" + text(v);
}

std::string c_emitter::text(const value& v) {
  const type& t = *v.type;
  const auto call = [&](std::string_view name, const value& of) {
    return std::string(name) + "(" + text(of) + ")";
  };
  return by_kind(
      v, [&](const number_value& x) { return constant_text(t, x.number); },
      [](const text_value& x) {
        return x.bytes.empty() ? "HEDDLE_NO_VIEW" : "HEDDLE_VIEW(" + c_text(x.bytes) + ")";
      },
      [&](const literal_value& x) { return literal(x.bytes); },
      [&](const slot_value& x) { return slot_text(x.slot); },
      [&](const field_value& x) {
        const std::string base = text(*x.of);
        const std::string name = c_name(x.of->type->record->parts.at(x.field).name);
        if (base.starts_with("(*") && base.find(')') == base.size() - 1)
          return base.substr(2, base.size() - 3) + "->" + name;
        return base + "." + name;
      },
      [&](const element_value& x) {
        const std::uint64_t count = x.of->type->count;
        const std::string at = text(*x.at), array = text(*x.of) + ".at[";
        // A constant that a pass has found may lie outside: then the check is what reports it.
        if (x.inside || x.at->is_below(count)) return array + at + "]";
        return array + "heddle_index(" + at + ", " + std::to_string(count) + ", &bad)]";
      },
      [&](const byte_value& x) {
        const std::string of = text(*x.of), at = text(*x.at);
        return x.inside ? "(uint8_t)" + of + ".data[" + at + "]"
                        : "heddle_view_at(" + of + ", " + at + ", &bad)";
      },
      [&](const part_value& x) {
        return "heddle_view_part(" + text(*x.of) + ", " + text(*x.from) + ", " + text(*x.to) +
               ", &bad)";
      },
      [&](const index_value& x) {
        return "(int64_t)heddle_index(" + text(*x.at) + ", " + std::to_string(x.count) + ", &bad)";
      },
      [&](const unary_value& x) {
        if (x.op == word::s_not) return "!" + wrapped(*x.of);
        if (x.op == word::s_tilde) return "(" + c_type(t) + ")~" + wrapped(*x.of);
        return "heddle_sub_" + int_name(t) + "(0, " + text(*x.of) + ", &bad)";
      },
      [&](const binary_value& x) { return binary_text(x, t); },
      [&](const error_value& x) { return "(int32_t)-" + text(*x.of); },
      [&](const status_value& x) {
        return x.of->is<number_value>() ? "-(int64_t)" + text(*x.of)
                                        : call("heddle_status_of", *x.of);
      },
      [&](const convert_value& x) { return convert_text(x, t); },
      [&](const view_value& x) {
        const type& of = *x.of->type;
        if (of.is(kind::text)) return call("HEDDLE_TEXT_VIEW", *x.of);
        if (of.is(kind::bytes)) return call("heddle_bytes_view", *x.of);
        return of.is(kind::buffer) ? call("heddle_buffer_filled", *x.of) : text(*x.of);
      },
      [&](const wrap_value& x) {
        return "(" + c_type(t) + "){.value = " + text(*x.of) + ", .has = true}";
      },
      [&](const empty_value&) -> std::string {
        if (is_pointer(t)) return "NULL";
        return is_struct(t) ? "(" + c_type(t) + "){0}" : "0";
      },
      [&](const has_value& x) { return text(*x.of) + ".has"; },
      [&](const held_value& x) { return text(*x.of) + ".value"; },
      [&](const property_value& x) { return call(x.c_name, *x.of); },
      [](const foreign_value& x) { return x.name; });
}

namespace {

/// The function of C that checks the operator, "" if there is none: `add` of
/// `heddle_add_i64(a, b, &bad)`.
std::string_view checked_name(word op) noexcept {
  switch (op) {
    case word::s_add:
      return "add";
    case word::s_sub:
      return "sub";
    case word::s_mul:
      return "mul";
    case word::s_div:
      return "div";
    case word::s_mod:
      return "mod";
    case word::s_shl:
      return "shl";
    case word::s_shr:
      return "shr";
    default:
      return {};
  }
}

bool compares_views(const binary_value& x) noexcept {
  return (x.op == word::s_eq || x.op == word::s_ne) && x.left->type->is(kind::view);
}

}  // namespace

std::string c_emitter::wrapped(const value& v) {
  const binary_value* const x = v.get<binary_value>();
  // One call in C needs no parentheses.
  if (x == nullptr || !checked_name(x->op).empty() || compares_views(*x)) return text(v);
  return "(" + text(v) + ")";
}

std::string c_emitter::binary_text(const binary_value& x, const type& to) {
  const type& t = *x.left->type;
  if (const std::string_view name = checked_name(x.op); !name.empty())
    return "heddle_" + std::string(name) + "_" + int_name(t.is(kind::duration) ? to : t) + "(" +
           text(*x.left) + ", " + text(*x.right) + ", &bad)";
  if (compares_views(x))
    return std::string(x.op == word::s_ne ? "!" : "") + "heddle_view_equal(" + text(*x.left) +
           ", " + text(*x.right) + ")";
  const std::string a = wrapped(*x.left), b = wrapped(*x.right);
  const std::string op = " " + std::string(spelling(x.op)) + " ";
  switch (x.op) {
    case word::s_add_wrap:
    case word::s_sub_wrap:
    case word::s_mul_wrap:
      return "(" + c_type(to) + ")((uint64_t)" + a + op.substr(0, 2) + " (uint64_t)" + b + ")";
    case word::s_and:
    case word::s_pipe:
    case word::s_xor:
      return "(" + c_type(to) + ")(" + a + op + b + ")";
    default:
      return a + op + b;
  }
}

std::string c_emitter::convert_text(const convert_value& x, const type& to) {
  const type& held = *x.of->type;
  const type& from = held.is(kind::enumeration) ? *held.values->base : held;
  if (to.is(kind::text)) {
    c_type(to);
    const std::string view =
        from.is(kind::view) ? text(*x.of) : "HEDDLE_TEXT_VIEW(" + text(*x.of) + ")";
    return "heddle_text_" + std::to_string(to.count) + "_of(" + view + ")";
  }
  if (!x.checked) return "(" + c_type(to) + ")" + wrapped(*x.of);
  const bool is_unsigned = from.is_integer() && !from.is_signed();
  return "heddle_" + int_name(to) + (is_unsigned ? "_of_u64(" : "_of_i64(") + text(*x.of) +
         ", &bad)";
}

}  // namespace heddle::draft
