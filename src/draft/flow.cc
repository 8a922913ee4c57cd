// SPDX-License-Identifier: MIT
// Values that may be a fault when they are computed, and the parts of tails.
#include "draft/flow.hh"

#include <algorithm>

namespace heddle::draft {

bool value::may_fault() const noexcept {
  for (const value& k : kids)
    if (k.may_fault()) return true;
  switch (op) {
    case value_op::element:
    case value_op::byte_at:
    case value_op::part:
      return true;
    case value_op::convert:
      return index == 1;  // narrowing
    case value_op::unary:
      return what == word::s_sub && !is_constant();
    case value_op::binary:
      return draft::may_fault(what);
    default:
      return false;
  }
}

bool value::checks_index() const noexcept {
  if (op == value_op::property && text == "heddle_index") return true;
  return std::any_of(kids.begin(), kids.end(), [](const value& k) { return k.checks_index(); });
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
