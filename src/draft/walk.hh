// SPDX-License-Identifier: MIT
// Going through a tree: every statement and every expression below a block, outer ones first. Each
// function gets what it goes through as the caller has it: constant or not. A function for
// expressions may give a bool: false leaves out what lies below the expression.
#pragma once

#include <vector>

#include "draft/tree.hh"

namespace heddle::draft {

template <one_of<block> Block, class OnExpr, class OnStmt>
void walk(Block& b, OnExpr&& on_expr, OnStmt&& on_stmt);

template <one_of<stmt> Stmt, class OnExpr, class OnStmt>
void walk(Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt);

/// Calls use(x) for each direct part of an expression, in order: expressions, and the jump or the
/// block of an `or`.
template <one_of<expr> Expr, class Use>
void each_part(Expr& e, Use&& use) {
  const auto parts = [&](const auto&... pointers) { ((pointers ? use(*pointers) : void()), ...); };
  const auto values = [&](const std::vector<argument>& list) {
    for (const argument& a : list) parts(a.value);
  };
  by_kind(
      e, [&](const list_expr& x) { values(x.elements); },
      [&](const call_expr& x) {
        parts(x.called);
        values(x.args);
      },
      [&](const index_expr& x) { parts(x.of, x.at); },
      [&](const one_of<member_expr, unary_expr, try_expr, move_expr> auto& x) { parts(x.of); },
      [&](const binary_expr& x) { parts(x.left, x.right); },
      [&](const range_expr& x) { parts(x.from, x.to); },
      [&](const spawn_expr& x) { parts(x.call, x.color); },
      [&](const or_expr& x) { parts(x.of, x.otherwise, x.jump, x.handler); },
      [&](const action_expr& x) { parts(x.body); },
      [](const one_of<bad_expr, name_expr, integer_expr, duration_expr, boolean_expr, text_expr,
                      none_expr> auto&) {});
}

template <one_of<expr> Expr, class OnExpr, class OnStmt>
void walk(Expr& e, OnExpr&& on_expr, OnStmt&& on_stmt) {
  if constexpr (std::is_same_v<decltype(on_expr(e)), bool>) {
    if (!on_expr(e)) return;
  } else {
    on_expr(e);
  }
  each_part(e, [&](auto& part) { walk(part, on_expr, on_stmt); });
}

/// Calls use(x) for each direct part of a statement, in order: expressions and blocks.
template <one_of<stmt> Stmt, class Use>
void each_part(Stmt& s, Use&& use) {
  const auto value = [&](const expr_ptr& e) {
    if (e) use(*e);
  };
  by_kind(
      s, [](const one_of<bad_stmt, break_stmt, continue_stmt> auto&) {},
      [&](const one_of<let_stmt, expression_stmt, return_stmt> auto& x) { value(x.value); },
      [&](const assign_stmt& x) {
        value(x.to);
        value(x.value);
      },
      [&](one_of<if_stmt> auto& x) {
        value(x.when.value);
        use(x.body);
        if (x.otherwise) use(*x.otherwise);
      },
      [&](one_of<while_stmt> auto& x) {
        value(x.when.value);
        use(x.body);
      },
      [&](one_of<for_stmt> auto& x) {
        value(x.over);
        use(x.body);
      },
      [&](one_of<match_stmt> auto& x) {
        value(x.value);
        for (auto& a : x.arms) {
          for (const expr_ptr& p : a.patterns) value(p);
          use(a.body);
        }
      },
      [&](one_of<any_stmt> auto& x) {
        for (auto& a : x.arms) {
          value(a.what);
          use(a.body);
        }
      },
      [&](one_of<loop_stmt, wait_stmt, scope_stmt, nowait_stmt, shield_stmt> auto& x) {
        use(x.body);
      },
      [&](one_of<within_stmt> auto& x) {
        value(x.limit);
        use(x.body);
      },
      [&](one_of<defer_stmt> auto& x) {
        value(x.value);
        use(x.body);
      },
      [&](const fail_stmt& x) { value(x.error); });
}

template <one_of<stmt> Stmt, class OnExpr, class OnStmt>
void walk(Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt) {
  on_stmt(s);
  each_part(s, [&](auto& part) { walk(part, on_expr, on_stmt); });
}

template <one_of<block> Block, class OnExpr, class OnStmt>
void walk(Block& b, OnExpr&& on_expr, OnStmt&& on_stmt) {
  for (const stmt_ptr& s : b.body) walk(*s, on_expr, on_stmt);
}

}  // namespace heddle::draft
