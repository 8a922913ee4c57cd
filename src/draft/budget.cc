// SPDX-License-Identifier: MIT
// Which loops might run long without letting others run. Each turn of those takes one from the
// budget of their worker, and the turn that finds it spent yields.
#include <algorithm>

#include "draft/checker.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// A counted loop of at most this many turns needs no budget.
constexpr __int128 free_turns_max = 65536;

/// The operation lets others run each time. Those of channels and the like answer at once for as
/// long as there is something to take; the driver's own have a budget.
bool always_lets_run(const expr& e) {
  const call_expr* const c = e.get<call_expr>();
  if (e.means == meaning::action) return false;  // each call expands another one
  if (c == nullptr || c->op == nullptr) return true;
  switch (c->op->on) {
    case receiver::channel:
    case receiver::subscription:
    case receiver::semaphore:
    case receiver::rendezvous:
    case receiver::job:
      return false;
    default:
      return true;
  }
}

/// Calls of calls that are looked through for a wait.
constexpr int call_depth_max = 4;

/// Every path through the block waits.
bool always_waits(const block& b, int depth = 0);
bool always_waits(const expr* e, int depth) {
  if (e == nullptr) return false;
  // A function that may wait does not do so each time.
  const call_expr* const call = e->get<call_expr>();
  if (e->waits && call != nullptr && call->callee != nullptr && !call->callee->decl->is_extern())
    return depth != call_depth_max && always_waits(call->callee->decl->body, depth + 1);
  if (e->waits && always_lets_run(*e)) return true;
  return by_kind(
      *e,
      [&](const one_of<try_expr, unary_expr, member_expr, or_expr> auto& x) {
        return always_waits(x.of.get(), depth);
      },
      [&](const call_expr& x) {
        return std::any_of(x.args.begin(), x.args.end(),
                           [&](const argument& a) { return always_waits(a.value.get(), depth); });
      },
      [](const one_of<bad_expr, name_expr, integer_expr, duration_expr, boolean_expr, text_expr,
                      none_expr, list_expr, index_expr, binary_expr, range_expr, move_expr,
                      spawn_expr, action_expr> auto&) { return false; });
}
bool always_waits(const stmt& s, int depth) {
  return by_kind(
      s,
      [&](const one_of<let_stmt, expression_stmt, return_stmt, assign_stmt> auto& x) {
        return always_waits(x.value.get(), depth);
      },
      [&](const any_stmt& x) {
        return std::all_of(x.arms.begin(), x.arms.end(), [&](const any_arm& a) {
          return a.kind != any_arm::form::wait || always_waits(a.what.get(), depth);
        });
      },
      // A scope may have no jobs, as a wait may have no events.
      [&](const one_of<scope_stmt, within_stmt, shield_stmt, nowait_stmt> auto& x) {
        return always_waits(x.body, depth);
      },
      [&](const if_stmt& x) {
        return always_waits(x.when.value.get(), depth) ||
               (x.otherwise && always_waits(x.body, depth) && always_waits(*x.otherwise, depth));
      },
      [](const one_of<bad_stmt, while_stmt, loop_stmt, for_stmt, match_stmt, wait_stmt, defer_stmt,
                      break_stmt, continue_stmt, fail_stmt> auto&) { return false; });
}
bool always_waits(const block& b, int depth) {
  for (const stmt_ptr& s : b.body) {
    if (always_waits(*s, depth)) return true;
    // A `continue` before the wait would skip it, and in a function that is called a `return`.
    bool skips = false;
    walk(
        *s, [](const expr&) {},
        [&](const stmt& x) {
          skips |=
              x.is<continue_stmt>() || (depth != 0 && (x.is<return_stmt>() || x.is<fail_stmt>()));
        });
    if (skips) return false;
  }
  return false;
}

/// Whether the number of turns is known, and at most free_turns_max.
bool bounded(const expr& over) {
  const range_expr* const range = over.get<range_expr>();
  if (range == nullptr)
    return over.type->is(kind::array) && static_cast<__int128>(over.type->count) <= free_turns_max;
  const auto known = [](const expr_ptr& e) {
    return e != nullptr && e->is_constant && e->local() == nullptr;
  };
  if (!known(range->to) || (range->from && !known(range->from))) return false;
  return range->to->number - (range->from ? range->from->number : 0) <= free_turns_max;
}

}  // namespace

void mark_yielding_loops(function& f) {
  walk(
      f.decl->body, [](const expr&) {},
      [](stmt& s) {
        while_stmt* const w = s.get<while_stmt>();
        if (w != nullptr)
          w->yields = !always_waits(w->body) && !always_waits(w->when.value.get(), 0);
        if (loop_stmt* const l = s.get<loop_stmt>()) l->yields = !always_waits(l->body);
        if (for_stmt* const f = s.get<for_stmt>())
          f->yields = !always_waits(f->body) && !bounded(*f->over);
      });
}

}  // namespace heddle::draft
