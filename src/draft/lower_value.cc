// SPDX-License-Identifier: MIT
// Expressions as values without effects; calls in them are made before, into temporaries.
#include <utility>

#include "draft/lowering.hh"
#include "draft/walk.hh"

namespace heddle::draft {

bool contains_effects(const expr& e) {
  bool any = false;
  walk(
      e,
      [&](const expr& x) {
        const name_expr* const n = x.get<name_expr>();
        any |= x.is<call_expr>() || x.is<or_expr>() || x.is<spawn_expr>() || x.is<action_expr>() ||
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
    return make(e.type, field_value{lower_place(*m->of), m->field});
  }
  const index_expr* const i = e.get<index_expr>();
  // A part or a byte of a view is a value; an array's element is a place.
  if (i == nullptr || !i->of->type->is(kind::array)) return lower(e);
  value base = lower_place(*i->of);
  value index = safe(lower(*i->at), e.at);
  // A constant may come from a call of this function, which is merged into its caller.
  if (!index.is_below(i->of->type->count)) {
    // Checked before the place is touched.
    const var_id tmp = add_temp(types_.basic(kind::i64), e.at);
    add(e.at, set_instr{value_of(tmp),
                        make(types_.basic(kind::i64), index_value{index, i->of->type->count})});
    check_fault(e.at);
    index = value_of(tmp);
  }
  return make(e.type, element_value{std::move(base), std::move(index), true});
}

value lowering::lower(const expr& e) {
  value v = lower_plain(e);
  return e.to != nullptr ? converted(std::move(v), e.to) : v;
}

value lowering::converted(value v, const type* to) {
  const type* const from = v.type;
  if (from == to) return v;
  if (to->is(kind::optional)) {
    if (from->is(kind::none)) return make(to, empty_value{});
    return make(to, wrap_value{converted(std::move(v), to->of)});
  }
  if (to->is(kind::view)) return make(to, view_value{std::move(v)});
  if (to->is(kind::bytes))
    if (text_value* const t = v.get<text_value>())
      return make(to, literal_value{std::move(t->bytes)});
  if (!to->is(kind::text) && v.is<number_value>()) return make(to, std::move(v.how));
  return make(to, convert_value{std::move(v)});
}

value lowering::lower_plain(const expr& e) {
  if (e.is_constant && !e.is<name_expr>()) return make_number(e.type, e.number);
  return by_kind(
      e,
      [&](const one_of<integer_expr, duration_expr, boolean_expr> auto&) {
        return make_number(e.type, e.number);
      },
      [&](const text_expr& x) { return make(types_.basic(kind::view), text_value{x.bytes}); },
      [&](const none_expr&) { return make(e.type, empty_value{}); },
      [&](const name_expr& x) {
        return x.var != nullptr ? variable_value(*x.var) : constant_of(e);
      },
      [&](const member_expr& x) {
        if (e.means == meaning::error_name) return make_number(e.type, e.number);
        if (e.means == meaning::constant) return constant_of(e);
        value of = lower(*x.of);
        if (e.means != meaning::operation) return make(e.type, field_value{std::move(of), x.field});
        return make(e.type, property_value{x.op->c_name, as_receiver(std::move(of), *x.op)});
      },
      [&](const index_expr& x) { return lower_index(e, x); },
      [&](const unary_expr& x) { return make(e.type, unary_value{x.op, lower(*x.of)}); },
      [&](const binary_expr& x) { return lower_binary(e, x); },
      [&](const move_expr& x) { return variable_value(*x.of->local()); },
      [&](const one_of<bad_expr, list_expr, call_expr, range_expr, try_expr, spawn_expr, or_expr,
                       action_expr> auto&) { return lower_made(e); });
}

value lowering::lower_made(const expr& e) {
  const var_id tmp = add_temp(e.type, e.at);
  if (e.type->needs_release()) add(e.at, clear_instr{tmp});
  store_made(value_of(tmp), e, failure{});
  if (e.type->needs_release() && open()) {
    // Temporaries of the arguments have ended; this one lives to the end of the statement.
    push_release(tmp);
  }
  return value_of(tmp);
}

value lowering::constant_of(const expr& e) {
  if (e.is_constant) return make_number(e.type, e.number);
  if (e.type->is(kind::view)) return make(e.type, text_value{bytes_of(e)});
  return make(e.type, foreign_value{bytes_of(e)});
}

value lowering::lower_index(const expr& e, const index_expr& x) {
  const type* const integer = types_.basic(kind::i64);
  if (const range_expr* const range = x.at->get<range_expr>()) {
    value base = to_view(lower(*x.of));
    value from = range->from ? lower(*range->from) : make_number(integer, 0);
    value to =
        range->to ? lower(*range->to) : make(integer, property_value{"heddle_view_len", base});
    return make(e.type, part_value{std::move(base), std::move(from), std::move(to)});
  }
  value base = lower(*x.of);
  if (x.of->type->is(kind::array))
    return make(e.type, element_value{std::move(base), lower(*x.at)});
  return make(e.type, byte_value{to_view(std::move(base)), lower(*x.at)});
}

value lowering::to_view(value v) {
  if (v.type->is(kind::view)) return v;
  return make(types_.basic(kind::view), view_value{std::move(v)});
}

value lowering::lower_binary(const expr& e, const binary_expr& x) {
  const bool logical = x.op == word::s_andand || x.op == word::s_oror;
  if (logical && (contains_effects(*x.right) || lowers_to_fault(*x.right))) {
    // The right side is only computed where it counts.
    const var_id tmp = add_temp(e.type, e.at);
    set(value_of(tmp), lower(*x.left), e.at);
    const block_id right = fresh("right", e.at);
    const block_id after = fresh("after", e.at);
    if (x.op == word::s_andand) {
      branch(value_of(tmp), right, after, e.at);
    } else {
      branch(value_of(tmp), after, right, e.at);
    }
    at_ = right;
    const std::uint32_t mark = top_;
    set(value_of(tmp), lower(*x.right), e.at);
    if (open()) leave_to(mark, e.at);
    top_ = mark;
    go(after);
    at_ = after;
    return value_of(tmp);
  }
  std::vector<value> sides = lower_all_lazily({x.left.get(), x.right.get()});
  if (x.right->type->is(kind::none)) {
    value has = make(e.type, has_value{std::move(sides[0])});
    return x.op == word::s_ne ? has : make(e.type, unary_value{word::s_not, std::move(has)});
  }
  return make(e.type, binary_value{x.op, std::move(sides[0]), std::move(sides[1])});
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
    if (effects_follow(list, i) && !v.is<number_value, text_value>() &&
        (v.type->owning == owning::value || v.may_fault()) && !v.type->by_address()) {
      const var_id tmp = add_temp(v.type, list[i]->at);
      note_value_views(tmp, v);
      set(value_of(tmp), std::move(v), list[i]->at);
      v = value_of(tmp);
    }
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace heddle::draft
