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
  switch (s.kind) {
    case stmt_kind::bad:
      return;
    case stmt_kind::let:
      if (s.a) add_expr(*s.a);
      enter_name(s.var, s.a != nullptr);
      if (s.a) note_view(s.var, *s.a);
      return;
    case stmt_kind::expression:
      return add_expr(*s.a);
    case stmt_kind::assign: {
      add_expr(*s.b);
      if (s.op != word::s_set) add_expr(*s.a);
      if (!s.a->is<name_expr>()) add_subscripts(*s.a);
      variable* const v = place_root(*s.a);
      if (s.a->is<name_expr>()) {
        add(happening::replace, v, s.a->at);
        note_view(v, *s.b);
      } else {
        add(happening::change, v, s.a->at);
      }
      return;
    }
    case stmt_kind::if_: {
      const std::size_t mark = live_.size();
      add_expr(*s.a);
      const std::size_t before = at_;
      const std::size_t after = fresh();
      at_ = branch(before);
      enter_name(s.var, true);
      add_block(s.body);
      leave_names(mark);
      go(after);
      at_ = branch(before);
      if (s.has_else) add_block(s.else_body);
      go(after);
      at_ = after;
      return;
    }
    case stmt_kind::while_:
      return add_loop([&](std::size_t after) {
        const std::size_t mark = live_.size();
        add_expr(*s.a);
        const bool endless = s.name.empty() && s.a->is_constant && s.a->number != 0;
        if (!endless) go_or_on(after);
        enter_name(s.var, true);
        add_block(s.body);
        leave_names(mark);
      });
    case stmt_kind::loop:
      return add_loop([&](std::size_t) { add_block(s.body); });
    case stmt_kind::for_: {
      add_expr(*s.a);
      variable* over = add_nameless(*s.a);
      if (over == nullptr) over = place_root(*s.a);
      return add_loop([&](std::size_t after) {
        go_or_on(after);
        const std::size_t mark = live_.size();
        if (over != nullptr) add(happening::use, over, s.a->at);
        enter_name(s.var, true);
        enter_name(s.second_var, true);
        add_block(s.body);
        leave_names(mark);
      });
    }
    case stmt_kind::match: {
      add_expr(*s.a);
      const std::size_t before = at_;
      const std::size_t after = fresh();
      for (const match_arm& a : s.arms) {
        at_ = branch(before);
        add_block(a.body);
        go(after);
      }
      at_ = after;
      return;
    }
    case stmt_kind::any: {
      // All arms are asked, so each of their objects is used; one body runs.
      for (const any_arm& a : s.any_arms)
        if (a.what) add_expr(*a.what);
      const std::size_t before = at_;
      const std::size_t after = fresh();
      for (const any_arm& a : s.any_arms) {
        at_ = branch(before);
        const std::size_t mark = live_.size();
        enter_name(a.var, true);
        if (a.what && a.var != nullptr) note_view(a.var, *a.what);
        add_block(a.body);
        leave_names(mark);
        go(after);
      }
      at_ = after;
      return;
    }
    case stmt_kind::scope: {
      const std::size_t mark = lent_.size();
      scopes_.push_back(live_.size());
      add_block(s.body);
      scopes_.pop_back();
      for (std::size_t i = mark; i != lent_.size(); ++i) add(happening::hand_back, lent_[i], s.at);
      lent_.resize(mark);
      return;
    }
    case stmt_kind::wait:
      add_block(s.body);
      // The values arrive at its end.
      for (const expr* e : s.events)
        add(happening::change, e->as<call_expr>().args[0].value->local(), e->at);
      return;
    case stmt_kind::nowait:
    case stmt_kind::shield:
      return add_block(s.body);
    case stmt_kind::within:
      add_expr(*s.a);
      return add_block(s.body);
    case stmt_kind::defer: {
      // A defer runs later: a variable that it assigns has no value behind the statement.
      return add_detour([&] {
        in_defer_ = true;
        if (s.a)
          add_expr(*s.a);
        else
          add_block(s.body);
        in_defer_ = false;
      });
    }
    case stmt_kind::return_:
    case stmt_kind::fail:
      if (s.a) add_expr(*s.a);
      at_ = nowhere;
      return;
    case stmt_kind::break_:
    case stmt_kind::continue_:
      if (loops_.empty()) return;
      // Scopes that are left wait for their jobs.
      for (std::size_t i = loops_.back().lent; i < lent_.size(); ++i)
        add(happening::hand_back, lent_[i], s.at);
      unpin(loops_.back().pins, s.at);
      end_names(loops_.back().names, s.at);
      go(s.kind == stmt_kind::break_ ? loops_.back().after : loops_.back().head);
      return;
  }
}

std::size_t ownership_graph::branch(std::size_t from) {
  if (from == nowhere) return nowhere;
  const std::size_t to = fresh();
  nodes[from].next.push_back(to);
  return to;
}

}  // namespace heddle::draft
