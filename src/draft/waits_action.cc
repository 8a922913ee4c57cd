// SPDX-License-Identifier: MIT
// Finds the actions that may wait.
#include "draft/waits_action.hh"

#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// Whether a call or an operation in the action is known to wait by now.
bool waits_by_now(const action_expr& x) {
  bool any = false;
  walk(
      *x.body,
      [&](const expr& e) {
        const call_expr* const c = e.get<call_expr>();
        any |= e.waits || (c != nullptr && c->callee != nullptr && c->callee->waits) ||
               (e.means == meaning::action && c->action()->waits);
      },
      [&](const stmt& s) { any |= waits_itself(s); });
  return any;
}

}  // namespace

bool waits_itself(const stmt& s) noexcept {
  return s.is<any_stmt>() || s.is<wait_stmt>() || s.is<scope_stmt>();
}

void action_waits::find(function& f) {
  walk(
      f.decl->body,
      [&](expr& e) {
        const call_expr* const c = e.get<call_expr>();
        if (c == nullptr) return;
        if (e.means == meaning::action) calls_.push_back({&f, &e, c->action()});
        if (c->callee == nullptr) return;
        for (std::size_t i = 0; i != c->args.size(); ++i) {
          variable* const to = c->callee->params[i];
          const expr& given = *c->args[i].value;
          if (to->type->is(kind::action))
            passed_.push_back({to, given.get<action_expr>(), given.local()});
        }
      },
      [](const stmt&) {});
}

bool action_waits::pass() {
  bool changed = false;
  for (const passed& p : passed_) {
    const bool waits = p.to->waits || (p.body != nullptr ? waits_by_now(*p.body) : p.from->waits);
    if (!waits) continue;
    changed |= !p.to->waits || (p.from != nullptr && !p.from->waits);
    p.to->waits = true;
    if (p.from != nullptr) p.from->waits = true;
  }
  for (const call& c : calls_) {
    if (!c.action->waits || c.in->waits) continue;
    c.in->waits = true;
    c.in->waits_at = c.at;
    changed = true;
  }
  return changed;
}

void action_waits::mark_calls() {
  for (const call& c : calls_) c.at->waits = c.action->waits;
}

}  // namespace heddle::draft
