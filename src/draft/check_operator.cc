// SPDX-License-Identifier: MIT
// Types of operators, and constants that they make.
#include <algorithm>

#include "draft/checker.hh"

namespace heddle::draft {

const type* checker::check_unary(expr& e, unary_expr& x, const type* want) {
  if (x.op == word::s_not) {
    check_value(*x.of, types_.basic(kind::boolean), "'!'");
    if (x.of->is_constant) {
      e.is_constant = true;
      e.number = x.of->number == 0 ? 1 : 0;
    }
    return e.type = types_.basic(kind::boolean);
  }
  check(*x.of, want);
  refuse_fallible(*x.of);
  const type* const t = x.of->type;
  if (t->is(kind::poison)) return wrong(e);
  if (!t->is_integer() && !(t->is(kind::duration) && x.op == word::s_sub)) {
    error("D0004", e.at, quoted(spelling(x.op)) + " is for integers, and this is " + t->name);
    return wrong(e);
  }
  const bool has_no_sign = x.op == word::s_sub && t->is_integer() && !t->is_signed();
  if (x.of->is_constant && !(has_no_sign && !t->is(kind::u64))) {
    e.number = x.op == word::s_sub ? -x.of->number : ~x.of->number;
    const type* of = t;
    if (has_no_sign) of = types_.basic(kind::i64);  // -9223372036854775808
    if (x.op == word::s_tilde && !t->is_signed()) e.number &= static_cast<__int128>(max_of(*t));
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

void checker::fold_binary(expr& e, const binary_expr& x) {
  const __int128 a = x.left->number, b = x.right->number;
  const type& t = *x.left->type;
  __int128 r = 0;
  bool wraps = false;
  const bool unsigned_result = e.type->is_integer() && !e.type->is_signed();
  switch (x.op) {
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
        error("D1102", x.right->at, "a division by zero");
        return;
      }
      r = x.op == word::s_div ? a / b : a % b;
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
        error("D1102", x.right->at, "a shift by " + to_decimal(b) + " of a " + t.name);
        return;
      }
      if (x.op == word::s_shr) {
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

const type* checker::check_binary(expr& e, binary_expr& x, const type* want) {
  const bool logical = x.op == word::s_andand || x.op == word::s_oror;
  if (logical) {
    check_value(*x.left, types_.basic(kind::boolean), spelling(x.op).data());
    check_value(*x.right, types_.basic(kind::boolean), spelling(x.op).data());
    e.type = types_.basic(kind::boolean);
    if (x.left->is_constant && x.right->is_constant) fold_binary(e, x);
    return e.type;
  }
  const bool compares = x.op == word::s_eq || x.op == word::s_ne || x.op == word::s_lt ||
                        x.op == word::s_gt || x.op == word::s_le || x.op == word::s_ge;
  const bool equality = x.op == word::s_eq || x.op == word::s_ne;
  const type* const wish = compares ? nullptr : want;
  // `x == none` and `v == more` follow the other side.
  if (x.left->is<none_expr>() && equality) std::swap(x.left, x.right);
  check(*x.left, wish);
  refuse_fallible(*x.left);
  check(*x.right, compares || x.left->type->is_integer() ? x.left->type : wish);
  refuse_fallible(*x.right);
  const type* a = x.left->type;
  const type* b = x.right->type;
  if (a->is(kind::poison) || b->is(kind::poison)) return wrong(e);
  const type* const boolean = types_.basic(kind::boolean);
  const bool shift = x.op == word::s_shl || x.op == word::s_shr;

  if (a->is_integer() && b->is_integer()) {
    const type* common = a;
    if (shift) {
      if (!compares && want != nullptr && want->is_integer() && x.left->is_constant &&
          converts(*x.left, want)) {
        convert(*x.left, want, nullptr);
        common = want;
      }
    } else if (a != b) {
      if (x.right->is_constant && converts(*x.right, a)) {
        convert(*x.right, a, nullptr);
      } else if (x.left->is_constant && converts(*x.left, b)) {
        convert(*x.left, b, nullptr);
        common = b;
      } else if (converts(*x.right, a)) {
        convert(*x.right, a, nullptr);
      } else if (converts(*x.left, b)) {
        convert(*x.left, b, nullptr);
        common = b;
      } else {
        error("D1101", e.at, "a " + a->name + " and a " + b->name + " have no common type").hint =
            "convert one of them: " + a->name + "(...)";
        return wrong(e);
      }
    }
    e.type = compares ? boolean : common;
    if (x.left->is_constant && x.right->is_constant) {
      fold_binary(e, x);
    } else if ((x.op == word::s_div || x.op == word::s_mod) && x.right->is_constant &&
               x.right->number == 0) {
      error("D1102", x.right->at, "a division by zero");
    }
    return e.type;
  }
  if (a->is(kind::duration) || b->is(kind::duration)) {
    const bool both = a == b;
    if (both && (x.op == word::s_add || x.op == word::s_sub || compares))
      return e.type = compares ? boolean : a;
    if (both && x.op == word::s_div) return e.type = types_.basic(kind::i64);
    if (a->is(kind::duration) && b->is_integer() && converts(*x.right, types_.basic(kind::i64)) &&
        (x.op == word::s_mul || x.op == word::s_div)) {
      convert(*x.right, types_.basic(kind::i64), nullptr);
      return e.type = a;
    }
    if (b->is(kind::duration) && a->is_integer() && converts(*x.left, types_.basic(kind::i64)) &&
        x.op == word::s_mul) {
      convert(*x.left, types_.basic(kind::i64), nullptr);
      return e.type = b;
    }
    error("D0004", e.at,
          "there is no " + a->name + " " + std::string(spelling(x.op)) + " " + b->name);
    return wrong(e);
  }
  if (equality) {
    if (like_view(*a) && like_view(*b)) {
      convert(*x.left, types_.basic(kind::view), nullptr);
      convert(*x.right, types_.basic(kind::view), nullptr);
      return e.type = boolean;
    }
    if (b->is(kind::none) && a->is(kind::optional)) return e.type = boolean;
    if (a == b && (a->is(kind::boolean) || a->is(kind::enumeration) || a->is(kind::error))) {
      e.type = boolean;
      if (x.left->is_constant && x.right->is_constant) fold_binary(e, x);
      return e.type;
    }
  }
  auto& d = error("D0004", e.at,
                  "there is no " + a->name + " " + std::string(spelling(x.op)) + " " + b->name);
  if (a->is(kind::boolean) && (x.op == word::s_and || x.op == word::s_pipe))
    d.hint = "for bool it is && and ||";
  return wrong(e);
}

const type* checker::check_index(expr& e, index_expr& x) {
  const type* const of = check(*x.of);
  refuse_fallible(*x.of);
  check(*x.at);
  refuse_fallible(*x.at);
  if (of->is(kind::poison) || x.at->type->is(kind::poison)) return wrong(e);
  const bool sliced = x.at->is<range_expr>();
  if (like_view(*of)) {
    if (sliced) {
      if (is_temporary(*x.of)) refuse_temporary(*x.of);
      return e.type = types_.basic(kind::view);
    }
    convert(*x.at, types_.basic(kind::i64), "an index");
    return e.type = types_.basic(kind::u8);
  }
  if (of->is(kind::array) && !sliced) {
    convert(*x.at, types_.basic(kind::i64), "an index");
    if (!is_place(*x.of)) error("D0004", x.of->at, "an array is indexed in a variable");
    if (x.at->is_constant && (x.at->number < 0 || x.at->number >= static_cast<__int128>(of->count)))
      error("D1103", x.at->at,
            "the index " + to_decimal(x.at->number) + " is outside of " + of->name);
    return e.type = of->of;
  }
  auto& d = error("D0004", e.at,
                  sliced ? "a part of a " + of->name + " cannot be taken"
                         : "a " + of->name + " has no elements");
  if (of->is(kind::buffer)) d.hint = "filled() gives its bytes";
  return wrong(e);
}

const type* checker::check_list(expr& e, list_expr& x, const type* want) {
  const type* of = want != nullptr && want->is(kind::array) ? want->of : nullptr;
  if (x.elements.empty()) {
    error("D0004", e.at, "an array has at least one element");
    return wrong(e);
  }
  for (argument& a : x.elements) {
    check_value(*a.value, of, "the array");
    if (of == nullptr) of = a.value->type;
  }
  if (of->is(kind::poison)) return wrong(e);
  if (of->needs_release() || of->owning == owning::borrowed) {
    error("D0004", e.at, "an array holds plain values, and no " + of->name);
    return wrong(e);
  }
  if (want != nullptr && want->is(kind::array) && want->count != x.elements.size()) {
    error("D0004", e.at,
          want->name + " wants " + std::to_string(want->count) + " elements, and here are " +
              std::to_string(x.elements.size()));
    return wrong(e);
  }
  return e.type = types_.array(x.elements.size(), of);
}

}  // namespace heddle::draft
