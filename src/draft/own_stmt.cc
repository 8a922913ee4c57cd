// SPDX-License-Identifier: MIT
// Adds the effects of statements on variables to the graph of a function.
#include <algorithm>

#include "draft/own_graph.hh"

namespace heddle::draft {

void ownership_graph::run() {
  at_ = fresh();
  for (variable* v : function_.params) add(happening::assign, v, v->at);
  add_block(function_.decl->body);
  close_views();
}

std::size_t ownership_graph::fresh() {
  nodes.emplace_back();
  return nodes.size() - 1;
}

void ownership_graph::go(std::size_t to) {
  if (at_ != nowhere) nodes[at_].next.push_back(to);
  at_ = nowhere;
}

void ownership_graph::go_or_on(std::size_t to) {
  const std::size_t before = at_;
  go(to);
  at_ = branch(before);
}

void ownership_graph::add(happening what, variable* v, span at) {
  if (at_ == nowhere || v == nullptr) return;
  nodes[at_].events.push_back({what, v, at});
  if (in_defer_ &&
      (what == happening::use || what == happening::wait_on || what == happening::change))
    pin(v, at);
}

void ownership_graph::pin(variable* v, span at) {
  const bool is_view = v->type->owning == owning::borrowed;
  if (!is_view && !v->type->is_owned()) return;
  std::vector<variable*> looked;
  if (is_view) looked = function_.looks_into[v];
  looked.push_back(v);
  for (variable* each : looked) {
    nodes[at_].events.push_back({is_view ? happening::pin_looked : happening::pin, each, at});
    pins_.push_back(each);
  }
}

void ownership_graph::unpin(std::size_t mark, span at) {
  for (std::size_t i = mark; i < pins_.size(); ++i)
    if (std::find(pins_.begin(), pins_.begin() + static_cast<std::ptrdiff_t>(mark), pins_[i]) ==
        pins_.begin() + static_cast<std::ptrdiff_t>(mark))
      add(happening::unpin, pins_[i], at);
}

void ownership_graph::add_block(const block& b) {
  const std::size_t mark = live_.size();
  const std::size_t pins = pins_.size();
  for (const stmt_ptr& s : b.body) add_stmt(*s);
  if (!in_defer_) {
    unpin(pins, b.at);
    pins_.resize(pins);
  }
  leave_names(mark);
}

void ownership_graph::leave_names(std::size_t mark) {
  end_names(mark, {});
  live_.resize(mark);
}

void ownership_graph::end_names(std::size_t mark, span at) {
  for (std::size_t i = live_.size(); i-- > mark;) add(happening::end, live_[i], at);
}

void ownership_graph::enter_name(variable* v, bool assigned) {
  if (v == nullptr) return;
  live_.push_back(v);
  add(happening::declare, v, v->at);
  if (assigned) add(happening::assign, v, v->at);
}

void ownership_graph::add_stmt(const stmt& s) {
  by_kind(
      s, [](const bad_stmt&) {},
      [&](const let_stmt& x) {
        if (x.value) add_expr(*x.value);
        enter_name(x.var, x.value != nullptr);
        if (x.value) note_view(x.var, *x.value);
      },
      [&](const expression_stmt& x) { add_expr(*x.value); },
      [&](const assign_stmt& x) {
        add_expr(*x.value);
        if (x.op != word::s_set) add_expr(*x.to);
        if (!x.to->is<name_expr>()) add_subscripts(*x.to);
        variable* const v = place_root(*x.to);
        if (x.to->is<name_expr>()) {
          add(happening::replace, v, x.to->at);
          note_view(v, *x.value);
        } else {
          add(happening::change, v, x.to->at);
        }
      },
      [&](const if_stmt& x) {
        const std::size_t mark = live_.size();
        add_expr(*x.when.value);
        const std::size_t before = at_;
        const std::size_t after = fresh();
        at_ = branch(before);
        enter_name(x.when.var, true);
        add_block(x.body);
        leave_names(mark);
        go(after);
        at_ = branch(before);
        if (x.otherwise) add_block(*x.otherwise);
        go(after);
        at_ = after;
      },
      [&](const while_stmt& x) {
        add_loop([&](std::size_t after) {
          const std::size_t mark = live_.size();
          add_expr(*x.when.value);
          if (!x.when.always_true()) go_or_on(after);
          enter_name(x.when.var, true);
          add_block(x.body);
          leave_names(mark);
        });
      },
      [&](const loop_stmt& x) { add_loop([&](std::size_t) { add_block(x.body); }); },
      [&](const for_stmt& x) {
        add_expr(*x.over);
        variable* over = add_nameless(*x.over);
        if (over == nullptr) over = place_root(*x.over);
        add_loop([&](std::size_t after) {
          go_or_on(after);
          const std::size_t mark = live_.size();
          if (over != nullptr) add(happening::use, over, x.over->at);
          enter_name(x.var, true);
          enter_name(x.second_var, true);
          add_block(x.body);
          leave_names(mark);
        });
      },
      [&](const match_stmt& x) {
        add_expr(*x.value);
        const std::size_t before = at_;
        const std::size_t after = fresh();
        for (const match_arm& a : x.arms) {
          at_ = branch(before);
          add_block(a.body);
          go(after);
        }
        at_ = after;
      },
      [&](const any_stmt& x) {
        // All arms are asked, so each of their objects is used; one body runs.
        for (const any_arm& a : x.arms)
          if (a.what) add_expr(*a.what);
        const std::size_t before = at_;
        const std::size_t after = fresh();
        for (const any_arm& a : x.arms) {
          at_ = branch(before);
          const std::size_t mark = live_.size();
          enter_name(a.var, true);
          if (a.what && a.var != nullptr) note_view(a.var, *a.what);
          add_block(a.body);
          leave_names(mark);
          go(after);
        }
        at_ = after;
      },
      [&](const scope_stmt& x) {
        const std::size_t mark = lent_.size();
        scopes_.push_back(live_.size());
        add_block(x.body);
        scopes_.pop_back();
        for (std::size_t i = mark; i != lent_.size(); ++i)
          add(happening::hand_back, lent_[i], s.at);
        lent_.resize(mark);
      },
      [&](const wait_stmt& x) {
        add_block(x.body);
        // The values arrive at its end.
        for (const expr* e : x.events)
          add(happening::change, e->as<call_expr>().args[0].value->local(), e->at);
      },
      [&](const one_of<nowait_stmt, shield_stmt> auto& x) { add_block(x.body); },
      [&](const within_stmt& x) {
        add_expr(*x.limit);
        add_block(x.body);
      },
      [&](const defer_stmt& x) {
        // A defer runs later: a variable that it assigns has no value behind the statement.
        add_detour([&] {
          in_defer_ = true;
          if (x.value)
            add_expr(*x.value);
          else
            add_block(x.body);
          in_defer_ = false;
        });
      },
      [&](const return_stmt& x) {
        if (x.value) add_expr(*x.value);
        if (action_.end != nowhere) leave_action(s.at, false);
        at_ = nowhere;
      },
      [&](const fail_stmt& x) {
        add_expr(*x.error);
        if (action_.end != nowhere) leave_action(s.at, false);
        at_ = nowhere;
      },
      [&](const break_stmt&) { leave_loop(s.at, &loop::after); },
      [&](const continue_stmt&) { leave_loop(s.at, &loop::head); });
}

void ownership_graph::leave_loop(span at, std::size_t loop::* to) {
  if (loops_.empty()) return;
  // Scopes that are left wait for their jobs.
  for (std::size_t i = loops_.back().lent; i < lent_.size(); ++i)
    add(happening::hand_back, lent_[i], at);
  unpin(loops_.back().pins, at);
  end_names(loops_.back().names, at);
  go(loops_.back().*to);
}

std::size_t ownership_graph::branch(std::size_t from) {
  if (from == nowhere) return nowhere;
  const std::size_t to = fresh();
  nodes[from].next.push_back(to);
  return to;
}

}  // namespace heddle::draft
