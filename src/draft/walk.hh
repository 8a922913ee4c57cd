// SPDX-License-Identifier: MIT
// Going through a tree: every statement and every expression below a block, outer ones first. Each
// function gets what it goes through as the caller has it: constant or not.
#pragma once

#include <concepts>

#include "draft/tree.hh"

namespace heddle::draft {

template <class T, class Of>
concept tree_node = std::same_as<std::remove_const_t<T>, Of>;

template <tree_node<block> Block, class OnExpr, class OnStmt>
void walk(Block& b, OnExpr&& on_expr, OnStmt&& on_stmt);

template <tree_node<stmt> Stmt, class OnExpr, class OnStmt>
void walk(Stmt& s, OnExpr&& on_expr, OnStmt&& on_stmt);

template <tree_node<expr> Expr, class OnExpr, class OnStmt>
void walk(Expr& e, OnExpr&& on_expr, OnStmt&& on_stmt) {
  on_expr(e);
  if (e.a) walk(*e.a, on_expr, on_stmt);
  for (const argument& a : e.args)
    if (a.value) walk(*a.value, on_expr, on_stmt);
  if (e.b) walk(*e.b, on_expr, on_stmt);
  if (e.jump) walk(*e.jump, on_expr, on_stmt);
  if (e.handler) walk(*e.handler, on_expr, on_stmt);
}

template <tree_node<stmt> Stmt, class OnExpr, class OnStmt>
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

template <tree_node<block> Block, class OnExpr, class OnStmt>
void walk(Block& b, OnExpr&& on_expr, OnStmt&& on_stmt) {
  for (const stmt_ptr& s : b.body) walk(*s, on_expr, on_stmt);
}

}  // namespace heddle::draft
