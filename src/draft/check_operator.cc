// SPDX-License-Identifier: MIT
// Types of operators, and constants that they make.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

const type* checker::check_unary(expr& e, const type* want) {
  if (e.op == word::s_not) {
    check_value(*e.a, types_.basic(kind::boolean), "'!'");
    if (e.a->is_constant) {
      e.is_constant = true;
      e.number = e.a->number == 0 ? 1 : 0;
    }
    return e.type = types_.basic(kind::boolean);
  }
  check(*e.a, want);
  refuse_fallible(*e.a);
  const type* const t = e.a->type;
  if (t->is(kind::poison)) return wrong(e);
  if (!t->is_integer() && !(t->is(kind::duration) && e.op == word::s_sub)) {
    error("D0004", e.at, quoted(spelling(e.op)) + " is for integers, and this is " + t->name);
    return wrong(e);
  }
  const bool has_no_sign = e.op == word::s_sub && t->is_integer() && !t->is_signed();
  if (e.a->is_constant && !(has_no_sign && !t->is(kind::u64))) {
    e.number = e.op == word::s_sub ? -e.a->number : ~e.a->number;
    const type* of = t;
    if (has_no_sign) of = types_.basic(kind::i64);  // -9223372036854775808
    if (e.op == word::s_tilde && !t->is_signed()) e.number &= static_cast<__int128>(max_of(*t));
    const type& range = *(of->is(kind::duration) ? types_.basic(kind::i64) : of);
    if (e.number < min_of(range) || e.number > static_cast<__int128>(max_of(range))) {
      error("D1102", e.at, to_decimal(e.number) + " does not fit in " + of->name);
      return wrong(e);
    }
    e.is_constant = true;
    return e.type = of;
  } else if (has_no_sign) {
    error("D0004", e.at, "'-' of a " + t->name + ", which has no sign");
  }
  return e.type = t;
}

void checker::fold_binary(expr& e) {
  const __int128 a = e.a->number, b = e.b->number;
  const type& t = *e.a->type;
  __int128 r = 0;
  bool wraps = false;
  const bool unsigned_result = e.type->is_integer() && !e.type->is_signed();
  switch (e.op) {
    case word::s_add:
      r = a + b;
      break;
    case word::s_sub:
      r = a - b;
      break;
    case word::s_mul:
      if (__builtin_mul_overflow(a, b, &r)) return;
      break;
    case word::s_add_wrap:
      r = a + b;
      wraps = true;
      break;
    case word::s_sub_wrap:
      r = a - b;
      wraps = true;
      break;
    case word::s_mul_wrap:
      r = static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                static_cast<unsigned __int128>(b));
      wraps = true;
      break;
    case word::s_div:
    case word::s_mod:
      if (b == 0) {
        error("D1102", e.b->at, "a division by zero");
        return;
      }
      r = e.op == word::s_div ? a / b : a % b;
      break;
    case word::s_and:
      r = a & b;
      break;
    case word::s_pipe:
      r = a | b;
      break;
    case word::s_xor:
      r = a ^ b;
      break;
    case word::s_shl:
    case word::s_shr:
      if (b < 0 || b >= static_cast<__int128>(t.bits())) {
        error("D1102", e.b->at, "a shift by " + to_decimal(b) + " of a " + t.name);
        return;
      }
      if (e.op == word::s_shr) {
        r = a >> static_cast<int>(b);
      } else {
        r = static_cast<__int128>(static_cast<unsigned __int128>(a) << static_cast<int>(b));
        wraps = true;
      }
      break;
    case word::s_eq:
      r = a == b;
      break;
    case word::s_ne:
      r = a != b;
      break;
    case word::s_lt:
      r = a < b;
      break;
    case word::s_gt:
      r = a > b;
      break;
    case word::s_le:
      r = a <= b;
      break;
    case word::s_ge:
      r = a >= b;
      break;
    case word::s_andand:
      r = a != 0 && b != 0;
      break;
    case word::s_oror:
      r = a != 0 || b != 0;
      break;
    default:
      return;
  }
  if (e.type->is_integer()) {
    if (wraps) {
      const unsigned bits = e.type->bits();
      auto low = static_cast<std::uint64_t>(static_cast<unsigned __int128>(r));
      if (bits < 64) low &= (std::uint64_t{1} << bits) - 1;
      if (unsigned_result) {
        r = low;
      } else {
        const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
        r = static_cast<std::int64_t>((low ^ sign) - sign);
      }
    } else if (r < min_of(*e.type) || r > static_cast<__int128>(max_of(*e.type))) {
      error("D1102", e.at, to_decimal(r) + " does not fit in " + e.type->name);
      return;
    }
  }
  e.is_constant = true;
  e.number = r;
}

const type* checker::check_binary(expr& e, const type* want) {
  const bool logical = e.op == word::s_andand || e.op == word::s_oror;
  if (logical) {
    check_value(*e.a, types_.basic(kind::boolean), spelling(e.op).data());
    check_value(*e.b, types_.basic(kind::boolean), spelling(e.op).data());
    e.type = types_.basic(kind::boolean);
    if (e.a->is_constant && e.b->is_constant) fold_binary(e);
    return e.type;
  }
  const bool compares = e.op == word::s_eq || e.op == word::s_ne || e.op == word::s_lt ||
                        e.op == word::s_gt || e.op == word::s_le || e.op == word::s_ge;
  const bool equality = e.op == word::s_eq || e.op == word::s_ne;
  const type* const wish = compares ? nullptr : want;
  // `x == none` and `v == more` follow the other side.
  if (e.a->kind == expr_kind::none && equality) std::swap(e.a, e.b);
  check(*e.a, wish);
  refuse_fallible(*e.a);
  check(*e.b, compares || e.a->type->is_integer() ? e.a->type : wish);
  refuse_fallible(*e.b);
  const type* a = e.a->type;
  const type* b = e.b->type;
  if (a->is(kind::poison) || b->is(kind::poison)) return wrong(e);
  const type* const boolean = types_.basic(kind::boolean);
  const bool shift = e.op == word::s_shl || e.op == word::s_shr;

  if (a->is_integer() && b->is_integer()) {
    const type* common = a;
    if (shift) {
      if (!compares && want != nullptr && want->is_integer() && e.a->is_constant &&
          converts(*e.a, want)) {
        convert(*e.a, want, nullptr);
        common = want;
      }
    } else if (a != b) {
      if (e.b->is_constant && converts(*e.b, a)) {
        convert(*e.b, a, nullptr);
      } else if (e.a->is_constant && converts(*e.a, b)) {
        convert(*e.a, b, nullptr);
        common = b;
      } else if (converts(*e.b, a)) {
        convert(*e.b, a, nullptr);
      } else if (converts(*e.a, b)) {
        convert(*e.a, b, nullptr);
        common = b;
      } else {
        error("D1101", e.at, "a " + a->name + " and a " + b->name + " have no common type").hint =
            "convert one of them: " + a->name + "(...)";
        return wrong(e);
      }
    }
    e.type = compares ? boolean : common;
    if (e.a->is_constant && e.b->is_constant) {
      fold_binary(e);
    } else if ((e.op == word::s_div || e.op == word::s_mod) && e.b->is_constant &&
               e.b->number == 0) {
      error("D1102", e.b->at, "a division by zero");
    }
    return e.type;
  }
  if (a->is(kind::duration) || b->is(kind::duration)) {
    const bool both = a == b;
    if (both && (e.op == word::s_add || e.op == word::s_sub || compares))
      return e.type = compares ? boolean : a;
    if (both && e.op == word::s_div) return e.type = types_.basic(kind::i64);
    if (a->is(kind::duration) && b->is_integer() && converts(*e.b, types_.basic(kind::i64)) &&
        (e.op == word::s_mul || e.op == word::s_div)) {
      convert(*e.b, types_.basic(kind::i64), nullptr);
      return e.type = a;
    }
    if (b->is(kind::duration) && a->is_integer() && converts(*e.a, types_.basic(kind::i64)) &&
        e.op == word::s_mul) {
      convert(*e.a, types_.basic(kind::i64), nullptr);
      return e.type = b;
    }
    error("D0004", e.at,
          "there is no " + a->name + " " + std::string(spelling(e.op)) + " " + b->name);
    return wrong(e);
  }
  if (equality) {
    if (like_view(*a) && like_view(*b)) {
      convert(*e.a, types_.basic(kind::view), nullptr);
      convert(*e.b, types_.basic(kind::view), nullptr);
      return e.type = boolean;
    }
    if (b->is(kind::none) && a->is(kind::optional)) return e.type = boolean;
    if (a == b && (a->is(kind::boolean) || a->is(kind::enumeration) || a->is(kind::error))) {
      e.type = boolean;
      if (e.a->is_constant && e.b->is_constant) fold_binary(e);
      return e.type;
    }
  }
  auto& d = error("D0004", e.at,
                  "there is no " + a->name + " " + std::string(spelling(e.op)) + " " + b->name);
  if (a->is(kind::boolean) && (e.op == word::s_and || e.op == word::s_pipe))
    d.hint = "for bool it is && and ||";
  return wrong(e);
}

const type* checker::check_index(expr& e) {
  const type* const of = check(*e.a);
  refuse_fallible(*e.a);
  check(*e.b);
  refuse_fallible(*e.b);
  if (of->is(kind::poison) || e.b->type->is(kind::poison)) return wrong(e);
  const bool sliced = e.b->kind == expr_kind::range;
  if (like_view(*of)) {
    if (sliced) {
      if (is_temporary(*e.a)) refuse_temporary(*e.a);
      return e.type = types_.basic(kind::view);
    }
    convert(*e.b, types_.basic(kind::i64), "an index");
    return e.type = types_.basic(kind::u8);
  }
  if (of->is(kind::array) && !sliced) {
    convert(*e.b, types_.basic(kind::i64), "an index");
    if (!is_place(*e.a)) error("D0004", e.a->at, "an array is indexed in a variable");
    if (e.b->is_constant && (e.b->number < 0 || e.b->number >= static_cast<__int128>(of->count)))
      error("D1103", e.b->at,
            "the index " + to_decimal(e.b->number) + " is outside of " + of->name);
    return e.type = of->of;
  }
  auto& d = error("D0004", e.at,
                  sliced ? "a part of a " + of->name + " cannot be taken"
                         : "a " + of->name + " has no elements");
  if (of->is(kind::buffer)) d.hint = "filled() gives its bytes";
  return wrong(e);
}

const type* checker::check_list(expr& e, const type* want) {
  const type* of = want != nullptr && want->is(kind::array) ? want->of : nullptr;
  if (e.args.empty()) {
    error("D0004", e.at, "an array has at least one element");
    return wrong(e);
  }
  for (argument& a : e.args) {
    check_value(*a.value, of, "the array");
    if (of == nullptr) of = a.value->type;
  }
  if (of->is(kind::poison)) return wrong(e);
  if (of->needs_release() || of->owning == owning::borrowed) {
    error("D0004", e.at, "an array holds plain values, and no " + of->name);
    return wrong(e);
  }
  if (want != nullptr && want->is(kind::array) && want->count != e.args.size()) {
    error("D0004", e.at,
          want->name + " wants " + std::to_string(want->count) + " elements, and here are " +
              std::to_string(e.args.size()));
    return wrong(e);
  }
  return e.type = types_.array(e.args.size(), of);
}

}  // namespace heddle::draft
