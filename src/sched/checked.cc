// SPDX-License-Identifier: MIT
// The color that owns a checked value, and the report of a touch in another color.
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
