// SPDX-License-Identifier: MIT
// Adds actions to the graph of the function that writes them, and holds that none touches what its
// call works on.
#include <algorithm>
#include <set>
#include <utility>

#include "draft/own_graph.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// The variables that an action reads, and those that it changes.
struct touched_names {
  std::set<const variable*> used;
  std::set<const variable*> changed;

  explicit touched_names(const block& b) {
    walk(
        b,
        [&](const expr& e) {
          if (e.local() != nullptr) used.insert(e.local());
          if (const call_expr* const c = e.get<call_expr>()) look_at(*c);
        },
        [&](const stmt& s) {
          if (const assign_stmt* const x = s.get<assign_stmt>()) change(*x->to);
        });
  }

 private:
  void change(const expr& place) {
    if (const variable* const v = place_root(place)) changed.insert(v);
  }
  void look_at(const call_expr& c) {
    const auto each = [&](std::size_t i, passing how) {
      if (how == passing::change && c.args[i].value) change(*c.args[i].value);
    };
    if (c.callee != nullptr)
      for (std::size_t i = 0; i != c.args.size(); ++i) each(i, c.callee->params[i]->how);
    if (c.op == nullptr) return;
    if (const expr* const on = c.receiver(); on != nullptr && (c.op->changes || c.op->consumes))
      change(*on);
    if (c.op->params == "...") return;
    const auto params = params_of(*c.op);
    for (std::size_t i = 0; i != c.args.size() && i != params.size(); ++i) each(i, params[i].how);
    // The value of an event becomes that of the variable.
    if (c.op->id == operation_id::event_of_wait) change(*c.args[0].value);
  }
};

}  // namespace

void ownership_graph::add_actions(const std::vector<argument>& args) {
  for (const argument& a : args) {
    const action_expr* const x = a.value ? a.value->get<action_expr>() : nullptr;
    if (x == nullptr || at_ == nowhere) continue;
    const std::size_t head = fresh();
    const std::size_t after = fresh();
    go(head);
    at_ = head;
    go_or_on(after);
    const action_around outer = std::exchange(action_, {head, live_.size(), pins_.size()});
    add_block(*x->body);
    action_ = outer;
    go(head);
    at_ = after;
  }
}

void ownership_graph::leave_action(span at, bool perhaps) {
  if (at_ == nowhere) return;
  const std::size_t before = at_;
  const std::size_t on = perhaps ? branch(before) : nowhere;
  at_ = branch(before);
  unpin(action_.pins, at);
  end_names(action_.names, at);
  go(action_.end);
  at_ = on;
}

void ownership_graph::check_actions(const call_expr& x) {
  if (x.callee == nullptr || !x.callee->takes_action()) return;
  for (std::size_t i = 0; i != x.args.size(); ++i) {
    const action_expr* const action = x.args[i].value->get<action_expr>();
    if (action == nullptr) continue;
    const touched_names touched(*action->body);
    for (std::size_t j = 0; j != x.args.size(); ++j) {
      const expr& given = *x.args[j].value;
      const variable& to = *x.callee->params[j];
      const variable* const v = place_root(given);
      if (v == nullptr || to.type->is(kind::action) || to.how == passing::take) continue;
      // A plain value and a view are copied before the call.
      const bool lent = to.type->needs_release() || to.type->by_address();
      const bool changes = to.how == passing::change;
      if (changes ? !touched.used.contains(v) : !lent || !touched.changed.contains(v)) continue;
      auto& d = report_.error("D0301", x.args[i].at,
                              "this action " + std::string(changes ? "uses " : "changes ") +
                                  quoted(v->name) + ", which the call has");
      d.notes.push_back({x.args[j].at, changes ? "the call changes it" : "the call borrows it"});
      d.hint = "pass a copy, or leave it to the action";
    }
  }
}

}  // namespace heddle::draft
