// SPDX-License-Identifier: MIT
// Whether control goes on after a statement.
#include <algorithm>

#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {
bool breaks(const expr& e) {
  bool any = false;
  each_part(e, [&](const auto& part) { any = any || breaks(part); });
  return any;
}

bool breaks(const stmt& s) {
  if (s.is<break_stmt>()) return true;
  if (s.is<while_stmt>() || s.is<loop_stmt>()) return false;
  // The sequence of a `for` is made outside of the loop.
  if (const for_stmt* const f = s.get<for_stmt>()) return breaks(*f->over);
  bool any = false;
  each_part(s, [&](const auto& part) { any = any || breaks(part); });
  return any;
}

bool breaks(const block& b) {
  return std::any_of(b.body.begin(), b.body.end(), [](const stmt_ptr& s) { return breaks(*s); });
}

bool leaves(const stmt& s) {
  const auto all = [](const auto& arms) {
    return !arms.empty() &&
           std::all_of(arms.begin(), arms.end(), [](const auto& a) { return leaves(a.body); });
  };
  return by_kind(
      s, [](const one_of<return_stmt, break_stmt, continue_stmt, fail_stmt> auto&) { return true; },
      [](const loop_stmt& x) { return !breaks(x.body); },
      [](const while_stmt& x) { return x.when.always_true() && !breaks(x.body); },
      [](const if_stmt& x) { return x.otherwise && leaves(x.body) && leaves(*x.otherwise); },
      [&](const one_of<match_stmt, any_stmt> auto& x) { return all(x.arms); },
      [](const one_of<scope_stmt, nowait_stmt, shield_stmt, within_stmt> auto& x) {
        return leaves(x.body);
      },
      [](const one_of<bad_stmt, let_stmt, expression_stmt, assign_stmt, for_stmt, wait_stmt,
                      defer_stmt> auto&) { return false; });
}

bool leaves(const block& b) {
  return std::any_of(b.body.begin(), b.body.end(), [](const stmt_ptr& s) { return leaves(*s); });
}

}  // namespace heddle::draft
