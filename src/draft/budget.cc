// SPDX-License-Identifier: MIT
// Which loops might run long without letting others run. Each turn of those takes one from the
// budget of their worker, and the turn that finds it spent yields.
#include "draft/checker.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// A counted loop of at most this many turns needs no budget.
constexpr __int128 free_turns_max = 65536;

/// The operation lets others run each time. Those of channels and the like answer at once for as
/// long as there is something to take; the driver's own have a budget.
bool always_lets_run(const expr& e) {
  if (e.op_info == nullptr) return true;
  switch (e.op_info->on) {
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
  if (e->waits && e->kind == expr_kind::call && e->means == meaning::function &&
      !e->callee->decl->is_extern)
    return depth != call_depth_max && always_waits(e->callee->decl->body, depth + 1);
  if (e->waits && always_lets_run(*e)) return true;
  switch (e->kind) {
    case expr_kind::try_:
    case expr_kind::unary:
    case expr_kind::member:
    case expr_kind::or_else:
      return always_waits(e->a.get(), depth);
    case expr_kind::call:
      for (const argument& a : e->args)
        if (always_waits(a.value.get(), depth)) return true;
      return false;
    default:
      return false;
  }
}
bool always_waits(const stmt& s, int depth) {
  switch (s.kind) {
    case stmt_kind::let:
    case stmt_kind::expression:
    case stmt_kind::return_:
      return always_waits(s.a.get(), depth);
    case stmt_kind::assign:
      return always_waits(s.b.get(), depth);
    case stmt_kind::any:
      for (const any_arm& a : s.any_arms)
        if (a.kind == any_arm::form::wait && !always_waits(a.what.get(), depth)) return false;
      return true;
    case stmt_kind::scope:  // a scope may have no jobs, as a wait may have no events
    case stmt_kind::within:
    case stmt_kind::shield:
    case stmt_kind::nowait:
      return always_waits(s.body, depth);
    case stmt_kind::if_:
      return always_waits(s.a.get(), depth) ||
             (s.has_else && always_waits(s.body, depth) && always_waits(s.else_body, depth));
    case stmt_kind::bad:
    case stmt_kind::while_:
    case stmt_kind::loop:
    case stmt_kind::for_:
    case stmt_kind::match:
    case stmt_kind::wait:
    case stmt_kind::defer:
    case stmt_kind::break_:
    case stmt_kind::continue_:
    case stmt_kind::fail:
      break;
  }
  return false;
}
bool always_waits(const block& b, int depth) {
  for (const stmt_ptr& s : b.body) {
    if (always_waits(*s, depth)) return true;
    // A `continue` before the wait would skip it, and in a function that is called a `return`.
    bool skips = false;
    walk(
        *s, [](const expr&) {},
        [&](const stmt& x) {
          skips |= x.kind == stmt_kind::continue_ ||
                   (depth != 0 && (x.kind == stmt_kind::return_ || x.kind == stmt_kind::fail));
        });
    if (skips) return false;
  }
  return false;
}

/// Whether the number of turns is known, and at most free_turns_max.
bool bounded(const stmt& s) {
  if (s.a->kind != expr_kind::range)
    return s.a->type->is(kind::array) && static_cast<__int128>(s.a->type->count) <= free_turns_max;
  const auto known = [](const expr* e) {
    return e != nullptr && e->is_constant &&
           !(e->kind == expr_kind::name && e->means == meaning::local);
  };
  if (!known(s.a->b.get()) || (s.a->a && !known(s.a->a.get()))) return false;
  return s.a->b->number - (s.a->a ? s.a->a->number : 0) <= free_turns_max;
}

}  // namespace

void mark_yielding_loops(function& f) {
  walk(
      f.decl->body, [](const expr&) {},
      [](stmt& s) {
        const bool is_while = s.kind == stmt_kind::while_, is_for = s.kind == stmt_kind::for_;
        if (!is_while && !is_for && s.kind != stmt_kind::loop) return;
        const bool waits = always_waits(s.body) || (is_while && always_waits(s.a.get(), 0));
        s.yields = !waits && !(is_for && bounded(s));
      });
}

}  // namespace heddle::draft
