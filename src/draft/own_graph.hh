// SPDX-License-Identifier: MIT
// A graph of what happens to the variables of one function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "draft/checker.hh"

namespace heddle::draft {

enum class happening : std::uint8_t {
  declare,  ///< the variable's scope begins, without a value
  assign,   ///< the variable has a value from now on
  replace,  ///< `x = ...`: an owned value would be lost
  use,
  wait_on,  ///< a use by an operation that waits
  change,   ///< passed as `var`, or changed by an operation
  move,
  end,         ///< the variable's scope ends
  lend,        ///< to a job of this scope, or to a defer
  lend_var,    ///< lend, and the job may change it
  hand_back,   ///< the scope has ended, and its jobs with it
  pin,         ///< a defer of this block uses it: it is not moved before
  pin_looked,  ///< a view of a defer looks into it: it is not changed either
  unpin,
};

struct event {
  happening what;
  variable* var;
  span at;
};

struct node {
  std::vector<event> events;
  std::vector<std::size_t> next;
};

class ownership_graph {
 public:
  ownership_graph(function& f, source::diagnostics& report) : function_(f), report_(report) {}

  std::vector<node> nodes;

  void run();

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};

  std::size_t fresh();
  /// An edge to a node. The node that it leaves has ended: the state at its end goes along all of
  /// its edges, so nothing may happen in it behind one.
  void go(std::size_t to);
  /// Adds an edge to a node, and continues in a new node, because control takes one of the two.
  void go_or_on(std::size_t to);
  void add(happening what, variable* v, span at);

  void add_block(const block& b);
  void leave_names(std::size_t mark);
  void end_names(std::size_t mark, span at);
  void enter_name(variable* v, bool assigned);

  struct loop {
    std::size_t head;
    std::size_t after;
    std::size_t names;
    std::size_t lent;
    std::size_t pins;
  };

  template <class Body>
  void add_loop(Body&& body) {
    const std::size_t head = fresh();
    const std::size_t after = fresh();
    go(head);
    at_ = head;
    loops_.push_back({head, after, live_.size(), lent_.size(), pins_.size()});
    body(after);
    go(head);
    loops_.pop_back();
    at_ = after;
  }

  void add_stmt(const stmt& s);
  /// A break or a continue.
  void leave_loop(span at, std::size_t loop::* to);

  /// The actions of a call run in it any number of times, after its arguments are known.
  void add_actions(const std::vector<argument>& args);
  /// Control leaves the action around with a result; or it may, with an error.
  void leave_action(span at, bool perhaps);
  /// Refuses actions that change what the call borrows or changes.
  void check_actions(const call_expr& x);

  std::size_t branch(std::size_t from);
  /// Adds what runs on one of two ways; the other goes past it.
  template <class Body>
  void add_detour(Body&& body) {
    const std::size_t before = at_;
    const std::size_t after = fresh();
    go(after);
    at_ = branch(before);
    body();
    go(after);
    at_ = before == nowhere ? nowhere : after;
  }

  void add_subscripts(const expr& e);

  void use_place(const expr& e, happening how);

  void add_expr(const expr& e);

  void add_call(const call_expr& x);

  /// Parameters that are `var`, after all arguments were looked at.
  void change_args(const call_expr& x);

  void add_spawn(const spawn_expr& x);

  void lend(variable* v, happening how, span at);
  /// A variable that a defer uses stays until the defer's block is left.
  void pin(variable* v, span at);
  void unpin(std::size_t mark, span at);

  /// The variables that a view looks into.
  std::vector<variable*> roots_of(const expr& e) const;
  void collect_roots(const expr& e, std::vector<variable*>& list) const;
  void collect_looked(const expr& e, std::vector<variable*>& list) const;

  void note_view(variable* v, const expr& from);
  /// A view looks into owners only; a view that it was taken from may be another one by now.
  void close_views();

  /// A view without a name: the loop's, or of an argument while later ones are computed. Null where
  /// the expression looks into nothing that could change.
  variable* add_nameless(const expr& from);
  /// Adds `first`, a view, then the others, and holds that it is still one.
  template <class Rest>
  void add_before(const expr& first, bool effects, Rest&& rest) {
    add_expr(first);
    variable* const view = effects ? add_nameless(first) : nullptr;
    rest();
    add(happening::use, view, first.at);
  }
  void add_args(const std::vector<argument>& args, std::size_t first);

  function& function_;
  source::diagnostics& report_;
  std::size_t at_ = nowhere;
  std::vector<variable*> live_;
  std::vector<loop> loops_;
  std::vector<variable*> lent_;
  std::vector<variable*> pins_;
  std::vector<std::size_t> scopes_;  // for each open scope, the number of names outside of it
  struct action_around {
    std::size_t end = nowhere;  ///< nowhere: none is around
    std::size_t names = 0;
    std::size_t pins = 0;
  };
  action_around action_;
  bool in_defer_ = false;
};

}  // namespace heddle::draft
