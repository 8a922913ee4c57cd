// SPDX-License-Identifier: MIT
// Whose a checked value is, and the report of a touch by another.
#include "heddle/sched/checked.hh"

namespace heddle {

void color_check::first_or_wrong(std::source_location where) noexcept {
  worker& w = worker::here();
  if (color_ == nobody) {
    color_ = w.color;
    first_ = site_of(where);
    return;
  }
  if (std::exchange(reported_, true)) return;
  w.sched.report({diagnostic_kind::wrong_color, first_, site_of(where), 1, {}, {}});
}

}  // namespace heddle
