// SPDX-License-Identifier: MIT
// Values that may be a fault when they are computed, and the parts of tails.
#include "draft/flow.hh"

namespace heddle::draft {

var_id value::slot() const noexcept {
  const slot_value* const s = get<slot_value>();
  return s != nullptr ? s->slot : no_id;
}

var_id value::root() const noexcept {
  if (const field_value* const f = get<field_value>()) return f->of->root();
  if (const element_value* const e = get<element_value>()) return e->of->root();
  return slot();
}

bool value::is_below(std::uint64_t count) const noexcept {
  const number_value* const n = get<number_value>();
  return n != nullptr && n->number >= 0 && n->number < static_cast<__int128>(count);
}

bool value::may_fault() const noexcept {
  bool any = by_kind(
      *this, [](const one_of<element_value, part_value> auto&) { return true; },
      [](const byte_value& x) { return !x.inside; },
      [](const convert_value& x) { return x.checked; },
      [](const unary_value& x) { return x.op == word::s_sub; },
      [](const binary_value& x) { return draft::may_fault(x.op); },
      // check_fault() follows each index_value, which lower_place() stores itself.
      [](const one_of<number_value, text_value, literal_value, slot_value, field_value, index_value,
                      error_value, status_value, view_value, wrap_value, empty_value, has_value,
                      held_value, property_value, foreign_value> auto&) { return false; });
  each_part(*this, [&](const value& part) { any = any || part.may_fault(); });
  return any;
}

bool value::checks_index() const noexcept {
  bool any = is<index_value>();
  each_part(*this, [&](const value& part) { any = any || part.checks_index(); });
  return any;
}

const value* tail::decides() const noexcept {
  if (const branch_tail* const b = get<branch_tail>()) return &b->condition;
  if (const choose_tail* const c = get<choose_tail>()) return &c->of;
  return nullptr;
}
value* tail::decides() noexcept {
  if (branch_tail* const b = get<branch_tail>()) return &b->condition;
  if (choose_tail* const c = get<choose_tail>()) return &c->of;
  return nullptr;
}

var_id tail::in_place() const noexcept {
  if (const any_tail* const a = get<any_tail>()) return a->won;
  if (const leave_tail* const l = get<leave_tail>()) return l->scope;
  return no_id;
}

}  // namespace heddle::draft
