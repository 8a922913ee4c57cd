// SPDX-License-Identifier: MIT
// The calls that were kept because they were nested too deep.
#include "heddle/core/detail/nesting.hh"

namespace heddle::detail {

void nest_level::run_kept() noexcept {
  while (kept_call* const c = first) {
    kept_call* const after = c->next;
    kept_call** const after_end = after == nullptr ? nullptr : end;
    first = nullptr;
    end = &first;
    c->run(*c, worker::running());
    if (after == nullptr) continue;
    *end = after;
    end = after_end;
  }
}

}  // namespace heddle::detail
