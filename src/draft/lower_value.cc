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
        const name_expr* const n = x.get<name_expr>();
        any |= x.is<call_expr>() || x.is<or_expr>() || x.is<spawn_expr>() ||
               (n != nullptr && n->moves);
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
  if (const name_expr* const n = e.get<name_expr>()) return variable_value(*n->var);
  if (const member_expr* const m = e.get<member_expr>()) {
    value v = make(value_op::field, e.type, {});
    v.kids.push_back(lower_place(*m->of));
    v.index = static_cast<std::uint32_t>(m->field);
    return v;
  }
  const index_expr* const i = e.get<index_expr>();
  // A part or a byte of a view is a value; an array's element is a place.
  if (i == nullptr || !i->of->type->is(kind::array)) return lower(e);
  value base = lower_place(*i->of);
  value index = safe(lower(*i->at), e.at);
  // A constant may come from a call of this function, which is merged into its caller.
  const bool inside = index.is_constant() && index.number >= 0 &&
                      index.number < static_cast<__int128>(i->of->type->count);
  if (!inside) {
    // Checked before the place is touched.
    const var_id tmp = add_temp(types_.basic(kind::i64), e.at);
    value bound = make(value_op::property, types_.basic(kind::i64), {});
    bound.text = "heddle_index";
    bound.number = i->of->type->count;
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
  if (e.is_constant && !e.is<name_expr>()) return constant_value(e.type, e.number);
  return by_kind(
      e,
      [&](const one_of<integer_expr, duration_expr, boolean_expr> auto&) {
        return constant_value(e.type, e.number);
      },
      [&](const text_expr& x) {
        value v = make(value_op::text, types_.basic(kind::view), {});
        v.text = x.bytes;
        return v;
      },
      [&](const none_expr&) { return make(value_op::empty, e.type, {}); },
      [&](const name_expr& x) {
        return x.var != nullptr ? variable_value(*x.var) : constant_of(e);
      },
      [&](const member_expr& x) {
        if (e.means == meaning::error_name) return constant_value(e.type, e.number);
        if (e.means == meaning::constant) return constant_of(e);
        const bool built_in = e.means == meaning::operation;
        value v = make(built_in ? value_op::property : value_op::field, e.type, {});
        if (built_in) {
          v.property = x.op;
          v.text = x.op->c_name;
          v.kids.push_back(as_receiver(lower(*x.of), *x.op));
        } else {
          v.index = static_cast<std::uint32_t>(x.field);
          v.kids.push_back(lower(*x.of));
        }
        return v;
      },
      [&](const index_expr& x) { return lower_index(e, x); },
      [&](const unary_expr& x) {
        value v = make(value_op::unary, e.type, {});
        v.what = x.op;
        v.kids.push_back(lower(*x.of));
        return v;
      },
      [&](const binary_expr& x) { return lower_binary(e, x); },
      [&](const move_expr& x) { return variable_value(*x.of->local()); },
      [&](const one_of<bad_expr, list_expr, call_expr, range_expr, try_expr, spawn_expr,
                       or_expr> auto&) { return lower_made(e); });
}

value lowering::lower_made(const expr& e) {
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
  v.text = bytes_of(e);
  if (!e.type->is(kind::view)) v.op = value_op::foreign;
  return v;
}

value lowering::lower_index(const expr& e, const index_expr& x) {
  const type* const integer = types_.basic(kind::i64);
  if (const range_expr* const range = x.at->get<range_expr>()) {
    value base = to_view(lower(*x.of));
    value from = range->from ? lower(*range->from) : constant_value(integer, 0);
    value to;
    if (range->to) {
      to = lower(*range->to);
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
  const bool array = x.of->type->is(kind::array);
  value v = make(array ? value_op::element : value_op::byte_at, e.type, {});
  value base = lower(*x.of);
  v.kids.push_back(array ? std::move(base) : to_view(std::move(base)));
  v.kids.push_back(lower(*x.at));
  return v;
}

value lowering::to_view(value v) {
  if (v.type->is(kind::view)) return v;
  value out = make(value_op::view_of, types_.basic(kind::view), {});
  out.kids.push_back(std::move(v));
  return out;
}

value lowering::lower_binary(const expr& e, const binary_expr& x) {
  const bool logical = x.op == word::s_andand || x.op == word::s_oror;
  if (logical && (contains_effects(*x.right) || lowers_to_fault(*x.right))) {
    // The right side is only computed where it counts.
    const var_id tmp = add_temp(e.type, e.at);
    set(slot_value(tmp), lower(*x.left), e.at);
    const block_id right = fresh("right", e.at);
    const block_id after = fresh("after", e.at);
    if (x.op == word::s_andand) {
      branch(slot_value(tmp), right, after, e.at);
    } else {
      branch(slot_value(tmp), after, right, e.at);
    }
    at_ = right;
    const std::uint32_t mark = top_;
    set(slot_value(tmp), lower(*x.right), e.at);
    if (open()) leave_to(mark, e.at);
    top_ = mark;
    go(after);
    at_ = after;
    return slot_value(tmp);
  }
  std::vector<value> sides = lower_all_lazily({x.left.get(), x.right.get()});
  if (x.right->type->is(kind::none)) {
    value has = make(value_op::has, e.type, {});
    has.kids.push_back(std::move(sides[0]));
    if (x.op == word::s_ne) return has;
    value v = make(value_op::unary, e.type, {});
    v.what = word::s_not;
    v.kids.push_back(std::move(has));
    return v;
  }
  value v = make(value_op::binary, e.type, std::move(sides));
  v.what = x.op;
  return v;
}

bool lowering::lowers_to_fault(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        if (x.is_constant) return;
        const unary_expr* const u = x.get<unary_expr>();
        const binary_expr* const b = x.get<binary_expr>();
        any |= x.is<index_expr>() || (u != nullptr && u->op == word::s_sub) ||
               (b != nullptr && may_fault(b->op));
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
