// SPDX-License-Identifier: MIT
// Parses expressions, by the strength of their operators.
#include <algorithm>
#include <utility>

#include "draft/parsing.hh"
#include "draft/walk.hh"

namespace heddle::draft {

void parser::join(expr& e) {
  std::uint32_t depth = 0;
  // The expressions of a handler lie below it, too: parse_expr() has counted them.
  each_part(e, overloaded{[&](const expr& part) { depth = std::max(depth, part.depth); },
                          [](const stmt&) {}, [](const block&) {}});
  e.depth = std::max(depth, e.depth) + 1;
  deepest_ = std::max(deepest_, e.depth);
  if (e.depth <= chain_max) return;
  report_.error("D0007", e.at, "this expression is too long").hint =
      "give a part of it a name with 'let'";
  throw recovery{};
}

expr_ptr parser::joined(span first, expr::kinds how) {
  expr_ptr e = make_expr(first.to(last_span()), std::move(how));
  join(*e);
  return e;
}

expr_ptr parser::parse_expr() {
  const nested deeper(*this);
  expr_ptr left = parse_range();
  if (!is(word::k_or)) return left;
  take();
  const span first = left->at;
  expr_ptr e = make_expr(first, or_expr{std::move(left)});
  or_expr& x = e->as<or_expr>();
  const auto handler = [&] {
    const std::uint32_t outer = std::exchange(deepest_, 0);
    x.handler = std::make_unique<block>(parse_block());
    e->depth = std::max(e->depth, deepest_);
    deepest_ = std::max(deepest_, outer);
  };
  if (is(word::k_return) || is(word::k_break) || is(word::k_continue) || is(word::k_fail)) {
    x.jump = parse_jump();
    each_part(*x.jump,
              overloaded{[&](const expr& part) { e->depth = std::max(e->depth, part.depth); },
                         [](const block&) {}});
  } else if (is(word::s_lbrace)) {
    handler();
  } else if (is_name() && ahead().is(word::s_lbrace)) {
    x.name_at = span_of(now());
    x.name = text_of(take());
    handler();
  } else {
    skip_lines();
    x.otherwise = parse_expr();
  }
  e->at = e->at.to(last_span());
  join(*e);
  return e;
}

expr_ptr parser::parse_range() {
  const span first = span_of(now());
  expr_ptr left;
  if (!is(word::s_dots)) {
    left = parse_or();
    if (!is(word::s_dots)) return left;
  }
  take();
  expr_ptr right;
  if (!at_end_of_expression() && !is(word::s_lbrace)) right = parse_or();
  return joined(first, range_expr{std::move(left), std::move(right)});
}

int parser::level_of(word w) noexcept {
  switch (w) {
    case word::s_oror:
      return 1;
    case word::s_andand:
      return 2;
    case word::s_eq:
    case word::s_ne:
    case word::s_lt:
    case word::s_gt:
    case word::s_le:
    case word::s_ge:
      return 3;
    case word::s_and:
    case word::s_pipe:
    case word::s_xor:
    case word::s_shl:
    case word::s_shr:
      return 4;
    case word::s_add:
    case word::s_sub:
    case word::s_add_wrap:
    case word::s_sub_wrap:
      return 5;
    case word::s_mul:
    case word::s_div:
    case word::s_mod:
    case word::s_mul_wrap:
      return 6;
    default:
      return 0;
  }
}

expr_ptr parser::parse_or() { return parse_binary(1); }

expr_ptr parser::parse_binary(int level) {
  if (level > 6) return parse_unary();
  expr_ptr left = parse_binary(level + 1);
  bool compared = false;
  while (level_of(now().what) == level) {
    if (level == 3 && compared)
      fail("comparisons do not chain", "write both with '&&' between them");
    compared = true;
    const span first = left->at;
    const word op = take().what;
    skip_lines();
    expr_ptr right = parse_binary(level + 1);
    left = joined(first, binary_expr{op, std::move(left), std::move(right)});
  }
  return left;
}

expr_ptr parser::parse_unary() {
  const span first = span_of(now());
  switch (now().what) {
    case word::s_not:
    case word::s_sub:
    case word::s_tilde: {
      const nested deeper(*this);
      const word op = take().what;
      expr_ptr of = parse_unary();
      return joined(first, unary_expr{op, std::move(of)});
    }
    case word::k_try:
    case word::k_move: {
      const nested deeper(*this);
      const bool tries = take().what == word::k_try;
      expr_ptr of = parse_unary();
      if (tries) return joined(first, try_expr{std::move(of)});
      return joined(first, move_expr{std::move(of)});
    }
    case word::k_spawn: {
      take();
      expr_ptr call = parse_postfix(), color;
      if (is_name("color")) {
        take();
        color = parse_postfix();
      }
      return joined(first, spawn_expr{std::move(call), std::move(color)});
    }
    default:
      return parse_postfix();
  }
}

expr_ptr parser::parse_postfix() {
  expr_ptr e = parse_atom();
  for (;;) {
    const span first = e->at;
    if (is(word::s_lparen)) {
      std::vector<argument> args;
      take();
      while (!is(word::s_rparen)) {
        argument x;
        x.at = span_of(now());
        if (is_name() && ahead().is(word::s_colon)) {
          x.name = text_of(take());
          take();
        }
        x.value = parse_expr();
        x.at = x.at.to(last_span());
        args.push_back(std::move(x));
        if (!is(word::s_rparen)) expect(word::s_comma, "between arguments");
      }
      take();
      e = joined(first, call_expr{std::move(e), std::move(args)});
    } else if (is(word::s_lbracket)) {
      const nested deeper(*this);
      take();
      expr_ptr at = parse_range();
      expect(word::s_rbracket, "after the index");
      e = joined(first, index_expr{std::move(e), std::move(at)});
    } else if (is(word::s_dot)) {
      take();
      const span name_at = span_of(now());
      // After a dot words of the language are names: `error.none`.
      const std::string_view name =
          now().kind == token_kind::keyword ? text_of(take()) : expect_name("a name after '.'");
      e = joined(first, member_expr{std::move(e), name, name_at});
    } else {
      return e;
    }
  }
}

expr_ptr parser::parse_atom() {
  const token& t = now();
  const span at = span_of(t);
  switch (t.kind) {
    case token_kind::integer:
    case token_kind::character:
      return make_expr(at, integer_expr{take().value});
    case token_kind::duration:
      return make_expr(at, duration_expr{take().value});
    case token_kind::text:
      return make_expr(at, text_expr{decode_text(text_of(take()))});
    case token_kind::name: {
      name_expr x{text_of(take())};
      if (!is(word::s_lt) || !is_generic(x.name)) return make_expr(at, std::move(x));
      x.has_generic = true;
      x.generic = parse_type_arguments();
      return make_expr(at.to(last_span()), std::move(x));
    }
    default:
      break;
  }
  switch (t.what) {
    case word::k_true:
    case word::k_false:
      return make_expr(at, boolean_expr{take().is(word::k_true)});
    case word::k_none:
      take();
      return make_expr(at, none_expr{});
    case word::k_fn:
      return parse_action();
    case word::s_lparen: {
      const nested deeper(*this);
      take();
      expr_ptr e = parse_expr();
      expect(word::s_rparen, "after the expression");
      e->parenthesized = true;
      return e;
    }
    case word::s_lbracket: {
      const nested deeper(*this);
      std::vector<argument> elements;
      take();
      while (!is(word::s_rbracket)) {
        argument x;
        x.at = span_of(now());
        x.value = parse_expr();
        elements.push_back(std::move(x));
        if (!is(word::s_rbracket)) expect(word::s_comma, "between elements");
      }
      take();
      return joined(at, list_expr{std::move(elements)});
    }
    default:
      fail("expected a value, found " + shown(t));
  }
}

expr_ptr parser::parse_action() {
  const nested deeper(*this);
  const span first = span_of(take());
  expect(word::s_lparen, "after 'fn'");
  if (!is(word::s_rparen))
    fail("an action has no parameters, found " + shown(now()),
         "what is between its braces sees the variables around it");
  take();
  const std::uint32_t outer = std::exchange(deepest_, 0);
  expr_ptr e = make_expr(first, action_expr{std::make_unique<block>(parse_block())});
  e->depth = std::max(e->depth, deepest_);
  deepest_ = std::max(deepest_, outer);
  e->at = e->at.to(last_span());
  join(*e);
  return e;
}

}  // namespace heddle::draft
