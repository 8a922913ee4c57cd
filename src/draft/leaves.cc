// SPDX-License-Identifier: MIT
// Whether control goes on after a statement.
#include <algorithm>

#include "draft/front.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

bool always_true(const expr* e) noexcept {
  return e != nullptr && e->is_constant && e->number != 0;
}

bool breaks(const expr& e);
/// `or break` somewhere in it, perhaps in an argument.
bool breaks(const expr* e) {
  bool any = false;
  if (e != nullptr) each_part(*e, [&](const auto& part) { any = any || breaks(part); });
  return any;
}
bool breaks(const expr& e) { return breaks(&e); }

}  // namespace

bool breaks(const stmt& s) {
  switch (s.kind) {
    case stmt_kind::break_:
      return true;
    case stmt_kind::while_:
    case stmt_kind::loop:
      return false;
    case stmt_kind::for_:  // the sequence is made outside of the loop
      return breaks(s.a.get());
    case stmt_kind::bad:
    case stmt_kind::let:
    case stmt_kind::expression:
    case stmt_kind::assign:
    case stmt_kind::if_:
    case stmt_kind::match:
    case stmt_kind::any:
    case stmt_kind::wait:
    case stmt_kind::scope:
    case stmt_kind::nowait:
    case stmt_kind::shield:
    case stmt_kind::within:
    case stmt_kind::defer:
    case stmt_kind::return_:
    case stmt_kind::continue_:
    case stmt_kind::fail:
      break;
  }
  bool any = breaks(s.body) || breaks(s.else_body);
  for (const match_arm& a : s.arms) any = any || breaks(a.body);
  for (const any_arm& a : s.any_arms) any = any || breaks(a.what.get()) || breaks(a.body);
  any = any || breaks(s.a.get()) || breaks(s.b.get());
  return any;
}

bool breaks(const block& b) {
  return std::any_of(b.body.begin(), b.body.end(), [](const stmt_ptr& s) { return breaks(*s); });
}

bool leaves(const stmt& s) {
  switch (s.kind) {
    case stmt_kind::return_:
    case stmt_kind::break_:
    case stmt_kind::continue_:
    case stmt_kind::fail:
      return true;
    case stmt_kind::loop:
      return !breaks(s.body);
    case stmt_kind::while_:
      return s.name.empty() && always_true(s.a.get()) && !breaks(s.body);
    case stmt_kind::if_:
      return s.has_else && leaves(s.body) && leaves(s.else_body);
    case stmt_kind::match:
      return !s.arms.empty() && std::all_of(s.arms.begin(), s.arms.end(),
                                            [](const match_arm& a) { return leaves(a.body); });
    case stmt_kind::any:
      return !s.any_arms.empty() && std::all_of(s.any_arms.begin(), s.any_arms.end(),
                                                [](const any_arm& a) { return leaves(a.body); });
    case stmt_kind::scope:
    case stmt_kind::nowait:
    case stmt_kind::shield:
    case stmt_kind::within:
      return leaves(s.body);
    case stmt_kind::bad:
    case stmt_kind::let:
    case stmt_kind::expression:
    case stmt_kind::assign:
    case stmt_kind::for_:
    case stmt_kind::wait:
    case stmt_kind::defer:
      break;
  }
  return false;
}

bool leaves(const block& b) {
  return std::any_of(b.body.begin(), b.body.end(), [](const stmt_ptr& s) { return leaves(*s); });
}

}  // namespace heddle::draft
