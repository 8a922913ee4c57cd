// SPDX-License-Identifier: MIT
// Going through a tree: every statement and every expression below a block, outer ones first. Each
// function gets what it goes through as the caller has it: constant or not.
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
      [](const one_of<bad_expr, name_expr, integer_expr, duration_expr, boolean_expr, text_expr,
                      none_expr> auto&) {});
}

template <one_of<expr> Expr, class OnExpr, class OnStmt>
void walk(Expr& e, OnExpr&& on_expr, OnStmt&& on_stmt) {
  on_expr(e);
  each_part(e, [&](auto& part) { walk(part, on_expr, on_stmt); });
}

template <one_of<stmt> Stmt, class OnExpr, class OnStmt>
void walk(Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt) {
  on_stmt(s);
  if (s.a) walk(*s.a, on_expr, on_stmt);
  if (s.b) walk(*s.b, on_expr, on_stmt);
  walk(s.body, on_expr, on_stmt);
  walk(s.else_body, on_expr, on_stmt);
  for (const match_arm& a : s.arms) {
    for (const expr_ptr& p : a.patterns) walk(*p, on_expr, on_stmt);
    walk(a.body, on_expr, on_stmt);
  }
  for (const any_arm& a : s.any_arms) {
    if (a.what) walk(*a.what, on_expr, on_stmt);
    walk(a.body, on_expr, on_stmt);
  }
}

template <one_of<block> Block, class OnExpr, class OnStmt>
void walk(Block& b, OnExpr&& on_expr, OnStmt&& on_stmt) {
  for (const stmt_ptr& s : b.body) walk(*s, on_expr, on_stmt);
}

}  // namespace heddle::draft
