// SPDX-License-Identifier: MIT
// Which values may be a fault when they are computed.
#include "draft/flow.hh"

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
      switch (what) {
        case word::s_add:
        case word::s_sub:
        case word::s_mul:
        case word::s_div:
        case word::s_mod:
        case word::s_shl:
        case word::s_shr:
          return true;
        default:
          return false;
      }
    default:
      return false;
  }
}

}  // namespace heddle::draft
