// SPDX-License-Identifier: MIT
// The color that owns an object, and the report of a use in another color.
#include "heddle/sync/detail/one_color.hh"

#include <utility>

namespace heddle::detail {

void one_color::first_or_wrong(worker& w, const one_color_kind& kind,
                               std::source_location where) noexcept {
  if (w.color == no_color) return;  // no color is running any more
  if (color_ == no_color) {
    color_ = w.color;
    first_ = site_of(where);
    return;
  }
  if (std::exchange(reported_, true)) return;
  diagnostic d{diagnostic_kind::wrong_color, first_ != 0 ? first_ : made_, site_of(where)};
  d.object = kind.name;
  d.object_made = made_;
  d.help = kind.remedy;
  w.sched.report(d);
}

}  // namespace heddle::detail
