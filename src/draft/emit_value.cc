// SPDX-License-Identifier: MIT
// Values in C.
#include "draft/c_emitter.hh"
#include "draft/checker.hh"

namespace heddle::draft {

std::string c_emitter::constant_text(const type& t, __int128 n) {
  if (t.is(kind::boolean)) return n != 0 ? "true" : "false";
  if (t.is(kind::enumeration) && !t.values->decl->is_extern) {
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
  if (v.op == value_op::slot) {
    const slot& s = flow_->slots[v.slot];
    if (s.by_reference && !is_own_address(*s.type))
      return s.in_frame ? "f->" + c_name(s.name) : c_name(s.name);
  }
  return "&" + text(v);
}

std::string c_emitter::text(const value& v) {
  const auto kid = [&](std::size_t i) { return text(v.kids.at(i)); };
  switch (v.op) {
    case value_op::constant:
      return constant_text(*v.type, v.number);
    case value_op::text:
      return v.text.empty() ? "HEDDLE_NO_VIEW" : "HEDDLE_VIEW(" + c_text(v.text) + ")";
    case value_op::literal:
      return literal(v.text);
    case value_op::slot:
      return slot_text(v.slot);
    case value_op::field: {
      std::string base = kid(0);
      const std::string name = c_name(v.kids[0].type->record->parts.at(v.index).name);
      if (base.starts_with("(*") && base.find(')') == base.size() - 1)
        return base.substr(2, base.size() - 3) + "->" + name;
      return base + "." + name;
    }
    case value_op::element:
      // A constant that a pass has found may lie outside: then the check is what reports it.
      if (v.index == 1 || (v.kids[1].is_constant() && v.kids[1].number >= 0 &&
                           v.kids[1].number < static_cast<__int128>(v.kids[0].type->count)))
        return kid(0) + ".at[" + kid(1) + "]";
      return kid(0) + ".at[heddle_index(" + kid(1) + ", " + std::to_string(v.kids[0].type->count) +
             ", &bad)]";
    case value_op::byte_at:
      return "heddle_view_at(" + kid(0) + ", " + kid(1) + ", &bad)";
    case value_op::part:
      return "heddle_view_part(" + kid(0) + ", " + kid(1) + ", " + kid(2) + ", &bad)";
    case value_op::unary:
      switch (v.what) {
        case word::s_not:
          return "!" + wrapped(v.kids[0]);
        case word::s_tilde:
          return "(" + c_type(*v.type) + ")~" + wrapped(v.kids[0]);
        case word::k_fail:
          return "(int32_t)-" + kid(0);
        case word::k_or:
          return v.kids[0].is_constant() ? "-(int64_t)" + kid(0)
                                         : "heddle_status_of(" + kid(0) + ")";
        default:
          return "heddle_sub_" + int_name(*v.type) + "(0, " + kid(0) + ", &bad)";
      }
    case value_op::binary:
      return binary_text(v);
    case value_op::convert:
      return convert_text(v);
    case value_op::view_of:
      switch (v.kids[0].type->kind) {
        case kind::text:
          return "HEDDLE_TEXT_VIEW(" + kid(0) + ")";
        case kind::bytes:
          return "heddle_bytes_view(" + kid(0) + ")";
        case kind::buffer:
          return "heddle_buffer_filled(" + kid(0) + ")";
        default:
          return kid(0);
      }
    case value_op::wrap:
      return "(" + c_type(*v.type) + "){.value = " + kid(0) + ", .has = true}";
    case value_op::empty:
      if (is_pointer(*v.type)) return "NULL";
      if (is_struct(*v.type)) return "(" + c_type(*v.type) + "){0}";
      return "0";
    case value_op::has:
      return kid(0) + ".has";
    case value_op::held:
      return kid(0) + ".value";
    case value_op::property:
      if (v.text == "heddle_index")
        return "(int64_t)heddle_index(" + kid(0) + ", " + to_decimal(v.number) + ", &bad)";
      if (v.text == "heddle_view_byte")
        return v.kids[0].type->is(kind::array) ? kid(0) + ".at[" + kid(1) + "]"
                                               : "(uint8_t)" + kid(0) + ".data[" + kid(1) + "]";
      return v.text + "(" + kid(0) + ")";
    case value_op::foreign:
      return v.text;
  }
  return "0";
}

namespace {

/// The operation is one call in C, which needs no parentheses: `heddle_add_i64(a, b, &bad)`.
bool is_one_call(const value& v) noexcept {
  switch (v.what) {
    case word::s_add:
    case word::s_sub:
    case word::s_mul:
    case word::s_div:
    case word::s_mod:
    case word::s_shl:
    case word::s_shr:
      return true;
    case word::s_eq:
    case word::s_ne:
      return v.kids[0].type->is(kind::view);
    default:
      return false;
  }
}

}  // namespace

std::string c_emitter::wrapped(const value& v) {
  std::string s = text(v);
  if (v.op == value_op::binary && !is_one_call(v)) return "(" + s + ")";
  return s;
}

std::string c_emitter::binary_text(const value& v) {
  const type& t = *v.kids[0].type;
  const std::string a = text(v.kids[0]), b = text(v.kids[1]);
  const std::string name = int_name(t.is(kind::duration) ? *v.type : t);
  const std::string ctype = c_type(*v.type);
  const auto helper = [&](const char* op) {
    return "heddle_" + std::string(op) + "_" + name + "(" + a + ", " + b + ", &bad)";
  };
  switch (v.what) {
    case word::s_add:
      return helper("add");
    case word::s_sub:
      return helper("sub");
    case word::s_mul:
      return helper("mul");
    case word::s_div:
      return helper("div");
    case word::s_mod:
      return helper("mod");
    case word::s_shl:
      return helper("shl");
    case word::s_shr:
      return helper("shr");
    case word::s_add_wrap:
    case word::s_sub_wrap:
    case word::s_mul_wrap: {
      const char* const op = v.what == word::s_add_wrap   ? " + "
                             : v.what == word::s_sub_wrap ? " - "
                                                          : " * ";
      return "(" + ctype + ")((uint64_t)" + wrapped(v.kids[0]) + op + "(uint64_t)" +
             wrapped(v.kids[1]) + ")";
    }
    case word::s_and:
    case word::s_pipe:
    case word::s_xor: {
      const std::string op(spelling(v.what));
      return "(" + ctype + ")(" + wrapped(v.kids[0]) + " " + op + " " + wrapped(v.kids[1]) + ")";
    }
    case word::s_eq:
    case word::s_ne:
      if (t.is(kind::view))
        return std::string(v.what == word::s_ne ? "!" : "") + "heddle_view_equal(" + a + ", " + b +
               ")";
      [[fallthrough]];
    default: {
      const std::string op(spelling(v.what));
      return wrapped(v.kids[0]) + " " + op + " " + wrapped(v.kids[1]);
    }
  }
}

std::string c_emitter::convert_text(const value& v) {
  const type& held = *v.kids[0].type;
  const type& from = held.is(kind::enumeration) ? *held.values->base : held;
  const type& to = *v.type;
  const std::string x = text(v.kids[0]);
  if (to.is(kind::text)) {
    c_type(to);
    const std::string view = from.is(kind::view) ? x : "HEDDLE_TEXT_VIEW(" + x + ")";
    return "heddle_text_" + std::to_string(to.count) + "_of(" + view + ")";
  }
  if (v.index == 0) return "(" + c_type(to) + ")" + wrapped(v.kids[0]);
  const bool is_unsigned = from.is_integer() && !from.is_signed();
  return "heddle_" + int_name(to) + (is_unsigned ? "_of_u64(" : "_of_i64(") + x + ", &bad)";
}

}  // namespace heddle::draft
