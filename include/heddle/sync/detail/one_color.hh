// SPDX-License-Identifier: MIT
// Locks, channels and the like belong to the first color that uses them, and have no atomics. A use
// in another color is reported (wrong-color) with both lines, once for each object; the behavior
// after such a use is not defined. The check is one compare of numbers.
#pragma once

#include <source_location>

#include "heddle/core/worker.hh"
#include "heddle/probe/site.hh"

namespace heddle::detail {

/// The words of a class in reports; each class has one static object.
struct one_color_kind {
  const char* name;    ///< "a mutex"
  const char* remedy;  ///< the alternative that works across colors
};

inline constexpr const char* enter_or_transaction =
    "co_await enter() its color before the use, or keep the data in a tvar: atomically() works in "
    "every color";

/// A member of each object that belongs to one color.
class one_color {
 public:
  explicit one_color(std::source_location made) noexcept : made_(site_of(made)) {}

  void check(worker& w, const one_color_kind& kind, std::source_location where) noexcept {
    if (color_ != w.color) [[unlikely]]
      first_or_wrong(w, kind, where);
  }
  /// As above, for calls that need no worker.
  void check(const one_color_kind& kind, std::source_location where) noexcept {
    if (worker* const w = worker::current()) check(*w, kind, where);
  }

 private:
  [[gnu::cold, gnu::noinline]] void first_or_wrong(worker& w, const one_color_kind& kind,
                                                   std::source_location where) noexcept;

  std::uint32_t color_ = no_color;
  site made_;
  site first_ = 0;
  bool reported_ = false;
};

}  // namespace heddle::detail
