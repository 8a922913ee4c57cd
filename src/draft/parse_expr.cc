// SPDX-License-Identifier: MIT
// Parses expressions, by the strength of their operators.
#include <algorithm>
#include <utility>

#include "draft/parsing.hh"

namespace heddle::draft {

expr_ptr parser::make(expr_kind kind, span at) {
  auto e = std::make_unique<expr>();
  e->kind = kind;
  e->at = at;
  return e;
}

void parser::join(expr& e) {
  std::uint32_t depth = 0;
  if (e.a) depth = std::max(depth, e.a->depth);
  if (e.b) depth = std::max(depth, e.b->depth);
  for (const argument& x : e.args)
    if (x.value) depth = std::max(depth, x.value->depth);
  // The expressions of a handler lie below it, too.
  e.depth = std::max(depth, e.depth) + 1;
  deepest_ = std::max(deepest_, e.depth);
  if (e.depth <= chain_max) return;
  report_.error("D0007", e.at, "this expression is too long").hint =
      "give a part of it a name with 'let'";
  throw recovery{};
}

expr_ptr parser::parse_expr() {
  const nested deeper(*this);
  expr_ptr left = parse_range();
  if (!is(word::k_or)) return left;
  take();
  auto e = make(expr_kind::or_else, left->at);
  e->a = std::move(left);
  const auto handler = [&] {
    const std::uint32_t outer = std::exchange(deepest_, 0);
    e->handler = std::make_unique<block>(parse_block());
    e->depth = std::max(e->depth, deepest_);
    deepest_ = std::max(deepest_, outer);
  };
  if (is(word::k_return) || is(word::k_break) || is(word::k_continue) || is(word::k_fail)) {
    e->jump = parse_jump();
    if (e->jump->a) e->depth = std::max(e->depth, e->jump->a->depth);
  } else if (is(word::s_lbrace)) {
    handler();
  } else if (is_name() && ahead().is(word::s_lbrace)) {
    e->name_at = span_of(now());
    e->name = text_of(take());
    handler();
  } else {
    skip_lines();
    e->b = parse_expr();
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
  auto e = make(expr_kind::range, first);
  e->a = std::move(left);
  if (!at_end_of_expression() && !is(word::s_lbrace)) e->b = parse_or();
  e->at = first.to(last_span());
  join(*e);
  return e;
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
    auto e = make(expr_kind::binary, left->at);
    e->name_at = span_of(now());
    e->op = take().what;
    skip_lines();
    e->a = std::move(left);
    e->b = parse_binary(level + 1);
    e->at = e->at.to(last_span());
    join(*e);
    left = std::move(e);
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
      auto e = make(expr_kind::unary, first);
      e->op = take().what;
      e->a = parse_unary();
      e->at = first.to(last_span());
      join(*e);
      return e;
    }
    case word::k_try:
    case word::k_move: {
      const nested deeper(*this);
      auto e = make(is(word::k_try) ? expr_kind::try_ : expr_kind::move, first);
      take();
      e->a = parse_unary();
      e->at = first.to(last_span());
      join(*e);
      return e;
    }
    case word::k_spawn: {
      auto e = make(expr_kind::spawn, first);
      take();
      e->a = parse_postfix();
      if (is_name("color")) {
        take();
        e->b = parse_postfix();
      }
      e->at = first.to(last_span());
      join(*e);
      return e;
    }
    default:
      return parse_postfix();
  }
}

expr_ptr parser::parse_postfix() {
  expr_ptr e = parse_atom();
  for (;;) {
    if (is(word::s_lparen)) {
      auto call = make(expr_kind::call, e->at);
      call->a = std::move(e);
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
        call->args.push_back(std::move(x));
        if (!is(word::s_rparen)) expect(word::s_comma, "between arguments");
      }
      take();
      call->at = call->at.to(last_span());
      join(*call);
      e = std::move(call);
    } else if (is(word::s_lbracket)) {
      const nested deeper(*this);
      auto index = make(expr_kind::index, e->at);
      take();
      index->a = std::move(e);
      index->b = parse_range();
      expect(word::s_rbracket, "after the index");
      index->at = index->at.to(last_span());
      join(*index);
      e = std::move(index);
    } else if (is(word::s_dot)) {
      auto member = make(expr_kind::member, e->at);
      take();
      member->name_at = span_of(now());
      // After a dot words of the language are names: `error.none`.
      if (now().kind == token_kind::keyword) {
        member->name = text_of(take());
      } else {
        member->name = expect_name("a name after '.'");
      }
      member->a = std::move(e);
      member->at = member->at.to(last_span());
      join(*member);
      e = std::move(member);
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
    case token_kind::character: {
      auto e = make(expr_kind::integer, at);
      e->value = take().value;
      return e;
    }
    case token_kind::duration: {
      auto e = make(expr_kind::duration, at);
      e->value = take().value;
      return e;
    }
    case token_kind::text: {
      auto e = make(expr_kind::text, at);
      e->text_value = decode_text(text_of(take()));
      return e;
    }
    case token_kind::name: {
      auto e = make(expr_kind::name, at);
      e->name = text_of(take());
      e->name_at = at;
      if (is(word::s_lt) && is_generic(e->name)) {
        e->has_generic = true;
        e->generic = parse_type_arguments();
        e->at = at.to(last_span());
      }
      return e;
    }
    default:
      break;
  }
  switch (t.what) {
    case word::k_true:
    case word::k_false: {
      auto e = make(expr_kind::boolean, at);
      e->value = take().is(word::k_true) ? 1 : 0;
      return e;
    }
    case word::k_none: {
      take();
      return make(expr_kind::none, at);
    }
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
      auto e = make(expr_kind::list, at);
      take();
      while (!is(word::s_rbracket)) {
        argument x;
        x.at = span_of(now());
        x.value = parse_expr();
        e->args.push_back(std::move(x));
        if (!is(word::s_rbracket)) expect(word::s_comma, "between elements");
      }
      take();
      e->at = at.to(last_span());
      join(*e);
      return e;
    }
    default:
      fail("expected a value, found " + shown(t));
  }
}

}  // namespace heddle::draft
