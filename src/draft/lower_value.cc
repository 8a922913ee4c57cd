// SPDX-License-Identifier: MIT
// Expressions as values without effects; calls in them are made before, into temporaries.
#include <utility>

#include "draft/lowering.hh"
#include "draft/walk.hh"

namespace heddle::draft {

value constant_value(const type* t, __int128 n) {
  value v;
  v.op = value_op::constant;
  v.type = t;
  v.number = n;
  return v;
}

bool contains_effects(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        any |= x.kind == expr_kind::call || x.kind == expr_kind::or_else ||
               x.kind == expr_kind::spawn || (x.kind == expr_kind::name && x.moves);
      },
      [](const stmt&) {});
  return any;
}

bool effects_follow(const std::vector<const expr*>& list, std::size_t n) {
  for (std::size_t i = n + 1; i < list.size(); ++i)
    if (contains_effects(*list[i])) return true;
  return false;
}

value lowering::lower_argument(const expr& e, bool waits) {
  value v = lower(e);
  v = safe(std::move(v), e.at);
  return waits ? stable(std::move(v), e.at) : v;
}

value lowering::lower_place(const expr& e) {
  switch (e.kind) {
    case expr_kind::name:
      return variable_value(*e.var);
    case expr_kind::member: {
      value base = lower_place(*e.a);
      value v = make(value_op::field, e.type, {});
      v.kids.push_back(std::move(base));
      v.index = static_cast<std::uint32_t>(e.value);
      return v;
    }
    case expr_kind::index: {
      // A part or a byte of a view is a value; an array's element is a place.
      if (!e.a->type->is(kind::array)) return lower(e);
      value base = lower_place(*e.a);
      value index = safe(lower(*e.b), e.at);
      // A constant may come from a call of this function, which is merged into its caller.
      const bool inside = index.is_constant() && index.number >= 0 &&
                          index.number < static_cast<__int128>(e.a->type->count);
      if (!inside) {
        // Checked before the place is touched.
        const var_id tmp = add_temp(types_.basic(kind::i64), e.at);
        value bound = make(value_op::property, types_.basic(kind::i64), {});
        bound.text = "heddle_index";
        bound.number = e.a->type->count;
        bound.kids.push_back(index);
        add(e.at, set_instr{slot_value(tmp), std::move(bound)});
        check_fault(e.at);
        index = slot_value(tmp);
      }
      value v = make(value_op::element, e.type, {});
      v.index = 1;  // checked
      v.kids.push_back(std::move(base));
      v.kids.push_back(std::move(index));
      return v;
    }
    default:
      return lower(e);
  }
}

value lowering::lower(const expr& e) {
  value v = lower_plain(e);
  return e.to != nullptr ? converted(std::move(v), e.to) : v;
}

value lowering::converted(value v, const type* to) {
  const type* const from = v.type;
  if (from == to) return v;
  if (to->is(kind::optional)) {
    if (from->is(kind::none)) return make(value_op::empty, to, {});
    value held = converted(std::move(v), to->of);
    value out = make(value_op::wrap, to, {});
    out.kids.push_back(std::move(held));
    return out;
  }
  if (to->is(kind::view)) {
    value out = make(value_op::view_of, to, {});
    out.kids.push_back(std::move(v));
    return out;
  }
  if (to->is(kind::bytes) && v.op == value_op::text) {
    v.op = value_op::literal;
    v.type = to;
    return v;
  }
  if (to->is(kind::text)) {
    value out = make(value_op::convert, to, {});
    out.kids.push_back(std::move(v));
    return out;
  }
  if (v.is_constant()) {
    v.type = to;
    return v;
  }
  value out = make(value_op::convert, to, {});
  out.kids.push_back(std::move(v));
  return out;
}

value lowering::lower_plain(const expr& e) {
  if (e.is_constant && e.kind != expr_kind::name) return constant_value(e.type, e.number);
  switch (e.kind) {
    case expr_kind::integer:
    case expr_kind::duration:
    case expr_kind::boolean:
      return constant_value(e.type, e.number);
    case expr_kind::text: {
      value v = make(value_op::text, types_.basic(kind::view), {});
      v.text = e.text_value;
      return v;
    }
    case expr_kind::none:
      return make(value_op::empty, e.type, {});
    case expr_kind::name:
      switch (e.means) {
        case meaning::local:
          return variable_value(*e.var);
        case meaning::enumerator:
          return constant_value(e.type, e.number);
        default:
          return constant_of(e);
      }
    case expr_kind::member:
      if (e.means == meaning::error_name)
        return constant_value(e.type, static_cast<std::int64_t>(e.value));
      if (e.means == meaning::enumerator) return constant_value(e.type, e.number);
      if (e.means == meaning::constant) return constant_of(e);
      if (e.means == meaning::operation) {
        value v = make(value_op::property, e.type, {});
        v.property = e.op_info;
        v.text = e.op_info->c_name;
        v.kids.push_back(as_receiver(lower(*e.a), *e.op_info));
        return v;
      }
      {
        value v = make(value_op::field, e.type, {});
        v.index = static_cast<std::uint32_t>(e.value);
        v.kids.push_back(lower(*e.a));
        return v;
      }
    case expr_kind::index:
      return lower_index(e);
    case expr_kind::unary: {
      value v = make(value_op::unary, e.type, {});
      v.what = e.op;
      v.kids.push_back(lower(*e.a));
      return v;
    }
    case expr_kind::binary:
      return lower_binary(e);
    case expr_kind::move: {
      value from = variable_value(*e.a->var);
      return from;
    }
    default:
      break;
  }
  // An expression with effects goes through a temporary.
  const var_id tmp = add_temp(e.type, e.at);
  if (e.type->needs_release()) add(e.at, clear_instr{tmp});
  store_made(slot_value(tmp), e, failure{});
  if (e.type->needs_release() && open()) {
    // Temporaries of the arguments have ended; this one lives to the end of the statement.
    push_release(tmp);
  }
  return slot_value(tmp);
}

value lowering::constant_of(const expr& e) {
  if (e.is_constant) return constant_value(e.type, e.number);
  value v = make(value_op::text, e.type, {});
  v.text = e.text_value;
  if (!e.type->is(kind::view)) v.op = value_op::foreign;
  return v;
}

value lowering::lower_index(const expr& e) {
  std::vector<const expr*> list = {e.a.get()};
  const type* const integer = types_.basic(kind::i64);
  if (e.b->kind == expr_kind::range) {
    value base = to_view(lower(*e.a));
    value from = e.b->a ? lower(*e.b->a) : constant_value(integer, 0);
    value to;
    if (e.b->b) {
      to = lower(*e.b->b);
    } else {
      to = make(value_op::property, integer, {});
      to.text = "heddle_view_len";
      to.kids.push_back(base);
    }
    value v = make(value_op::part, e.type, {});
    v.kids.push_back(std::move(base));
    v.kids.push_back(std::move(from));
    v.kids.push_back(std::move(to));
    return v;
  }
  if (e.a->type->is(kind::array)) {
    value v = make(value_op::element, e.type, {});
    v.kids.push_back(lower(*e.a));
    v.kids.push_back(lower(*e.b));
    return v;
  }
  value v = make(value_op::byte_at, e.type, {});
  v.kids.push_back(to_view(lower(*e.a)));
  v.kids.push_back(lower(*e.b));
  return v;
}

value lowering::to_view(value v) {
  if (v.type->is(kind::view)) return v;
  value out = make(value_op::view_of, types_.basic(kind::view), {});
  out.kids.push_back(std::move(v));
  return out;
}

value lowering::lower_binary(const expr& e) {
  const bool logical = e.op == word::s_andand || e.op == word::s_oror;
  if (logical && (contains_effects(*e.b) || lowers_to_fault(*e.b))) {
    // The right side is only computed where it counts.
    const var_id tmp = add_temp(e.type, e.at);
    set(slot_value(tmp), lower(*e.a), e.at);
    const block_id right = fresh("right", e.at);
    const block_id after = fresh("after", e.at);
    if (e.op == word::s_andand) {
      branch(slot_value(tmp), right, after, e.at);
    } else {
      branch(slot_value(tmp), after, right, e.at);
    }
    at_ = right;
    const std::uint32_t mark = top_;
    set(slot_value(tmp), lower(*e.b), e.at);
    if (open()) leave_to(mark, e.at);
    top_ = mark;
    go(after);
    at_ = after;
    return slot_value(tmp);
  }
  std::vector<value> sides = lower_all_lazily({e.a.get(), e.b.get()});
  if (e.b->type->is(kind::none)) {
    value has = make(value_op::has, e.type, {});
    has.kids.push_back(std::move(sides[0]));
    if (e.op == word::s_ne) return has;
    value v = make(value_op::unary, e.type, {});
    v.what = word::s_not;
    v.kids.push_back(std::move(has));
    return v;
  }
  value v = make(value_op::binary, e.type, std::move(sides));
  v.what = e.op;
  return v;
}

bool lowering::lowers_to_fault(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        if (x.is_constant) return;
        any |= x.kind == expr_kind::index;
        if (x.kind == expr_kind::binary)
          any |= x.op == word::s_add || x.op == word::s_sub || x.op == word::s_mul ||
                 x.op == word::s_div || x.op == word::s_mod || x.op == word::s_shl ||
                 x.op == word::s_shr;
        any |= x.kind == expr_kind::unary && x.op == word::s_sub;
        any |= x.means == meaning::conversion;
      },
      [](const stmt&) {});
  return any;
}

std::vector<value> lowering::lower_all_lazily(const std::vector<const expr*>& list) {
  std::vector<value> out;
  for (std::size_t i = 0; i != list.size(); ++i) {
    value v = lower(*list[i]);
    if (effects_follow(list, i) && !v.is_constant() && v.op != value_op::text &&
        (v.type->owning == owning::value || v.may_fault()) && !v.type->by_address()) {
      const var_id tmp = add_temp(v.type, list[i]->at);
      note_value_views(tmp, v);
      set(slot_value(tmp), std::move(v), list[i]->at);
      v = slot_value(tmp);
    }
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace heddle::draft
