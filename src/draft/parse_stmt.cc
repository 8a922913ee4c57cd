// SPDX-License-Identifier: MIT
// Parses statements.
#include <algorithm>
#include <utility>

#include "draft/parsing.hh"

namespace heddle::draft {

block parser::parse_block() {
  const nested deeper(*this);
  block b;
  b.at = span_of(now());
  expect(word::s_lbrace, "before the block");
  skip_lines();
  while (!is(word::s_rbrace)) {
    if (at_end()) {
      report_end(b.at);
      throw recovery{};
    }
    const std::size_t before = at_;
    const std::uint32_t nesting = nesting_;
    try {
      b.body.push_back(parse_stmt());
      end_of_line("after this statement");
    } catch (recovery) {
      nesting_ = nesting;
      resynchronize();
      if (at_ == before && !is(word::s_rbrace)) take();
    }
    skip_lines();
  }
  take();
  b.at = b.at.to(last_span());
  return b;
}

stmt_ptr parser::make(stmt_kind kind) {
  auto s = std::make_unique<stmt>();
  s->kind = kind;
  s->at = span_of(now());
  return s;
}

stmt_ptr parser::parse_stmt() {
  const nested deeper(*this);
  switch (now().what) {
    case word::k_let:
    case word::k_var:
      return parse_let();
    case word::k_if:
      return parse_if();
    case word::k_while: {
      auto s = make(stmt_kind::while_);
      take();
      parse_condition(*s);
      s->at = s->at.to(last_span());
      s->body = parse_block();
      return s;
    }
    case word::k_loop:
      return parse_plain(stmt_kind::loop);
    case word::k_wait:
      return parse_plain(stmt_kind::wait);
    case word::k_scope:
      return parse_plain(stmt_kind::scope);
    case word::k_nowait:
      return parse_plain(stmt_kind::nowait);
    case word::k_shield:
      return parse_plain(stmt_kind::shield);
    case word::k_within: {
      auto s = make(stmt_kind::within);
      take();
      s->a = parse_or();
      s->at = s->at.to(last_span());
      s->body = parse_block();
      return s;
    }
    case word::k_for:
      return parse_for();
    case word::k_match:
      return parse_match();
    case word::k_any:
      return parse_any();
    case word::k_defer: {
      auto s = make(stmt_kind::defer);
      take();
      if (is(word::k_shield)) {
        s->body.at = span_of(now());
        s->body.body.push_back(parse_stmt());
      } else {
        s->a = parse_expr();
      }
      s->at = s->at.to(last_span());
      return s;
    }
    case word::k_return:
    case word::k_break:
    case word::k_continue:
    case word::k_fail:
      return parse_jump();
    case word::s_lbrace:
      fail("a block stands behind a word: if, loop, scope, ...");
    case word::k_else:
      fail("this 'else' has no 'if'", "'else' is on the line of the closing brace: '} else {'");
    default:
      return parse_simple();
  }
}

stmt_ptr parser::parse_plain(stmt_kind kind) {
  auto s = make(kind);
  take();
  s->body = parse_block();
  return s;
}

stmt_ptr parser::parse_let() {
  auto s = make(stmt_kind::let);
  s->is_var = take().is(word::k_var);
  s->name_at = span_of(now());
  s->name = expect_name("the variable's name");
  if (accept(word::s_colon)) s->type = parse_type();
  if (accept(word::s_set)) {
    s->a = parse_expr();
  } else if (!s->type) {
    fail("expected '=' and the variable's value, found " + shown(now()));
  } else if (!s->is_var) {
    fail("a 'let' needs its value at once, found " + shown(now()), "'var' may get its value later");
  }
  s->at = s->at.to(last_span());
  return s;
}

void parser::parse_condition(stmt& s) {
  if (accept(word::k_let)) {
    s.name_at = span_of(now());
    s.name = expect_name("the variable's name");
    expect(word::s_set, "and an optional value");
  }
  s.a = parse_or();
  if (is(word::s_set)) fail("this is a condition, and '=' changes a variable", "'==' compares");
}

stmt_ptr parser::parse_if() {
  const nested deeper(*this);
  auto s = make(stmt_kind::if_);
  take();
  parse_condition(*s);
  s->at = s->at.to(last_span());
  s->body = parse_block();
  if (accept(word::k_else)) {
    s->has_else = true;
    if (is(word::k_if)) {
      s->else_body.at = span_of(now());
      s->else_body.body.push_back(parse_if());
    } else {
      s->else_body = parse_block();
    }
  }
  return s;
}

stmt_ptr parser::parse_for() {
  auto s = make(stmt_kind::for_);
  take();
  s->name_at = span_of(now());
  s->name = expect_name("the loop's variable");
  if (accept(word::s_comma)) {
    s->second_at = span_of(now());
    s->second = expect_name("the second variable");
  }
  expect(word::k_in, "before what is gone through");
  s->a = parse_range();
  s->at = s->at.to(last_span());
  s->body = parse_block();
  return s;
}

block parser::parse_arm_body() {
  expect(word::s_darrow, "before what this case does");
  if (is(word::s_lbrace)) return parse_block();
  block b;
  b.at = span_of(now());
  b.body.push_back(parse_stmt());
  b.at = b.at.to(last_span());
  return b;
}

stmt_ptr parser::parse_match() {
  auto s = make(stmt_kind::match);
  take();
  s->a = parse_or();
  s->at = s->at.to(last_span());
  parse_arms("before the cases", [&] {
    match_arm arm;
    arm.at = span_of(now());
    if (accept(word::k_else)) {
      arm.otherwise = true;
    } else {
      do arm.patterns.push_back(parse_or());
      while (accept(word::s_comma));
    }
    arm.at = arm.at.to(last_span());
    arm.body = parse_arm_body();
    s->arms.push_back(std::move(arm));
  });
  return s;
}

stmt_ptr parser::parse_any() {
  auto s = make(stmt_kind::any);
  take();
  parse_arms("before the arms", [&] {
    any_arm arm;
    arm.at = span_of(now());
    if (accept(word::k_else)) {
      arm.kind = any_arm::form::failed;
      arm.name_at = span_of(now());
      arm.name = expect_name("a name for the error");
    } else if (is_name("after") && !ahead().is(word::s_set) && !ahead().is(word::s_dot) &&
               !ahead().is(word::s_lparen)) {
      take();
      arm.kind = any_arm::form::after;
      arm.what = parse_or();
    } else {
      if (is_name() && ahead().is(word::s_set)) {
        arm.name_at = span_of(now());
        arm.name = text_of(take());
        take();
      }
      arm.what = parse_or();
    }
    arm.at = arm.at.to(last_span());
    arm.body = parse_arm_body();
    s->any_arms.push_back(std::move(arm));
  });
  return s;
}

bool parser::at_end_of_expression() const noexcept {
  return now().kind == token_kind::newline || at_end() || is(word::s_rbrace) ||
         is(word::s_rparen) || is(word::s_rbracket) || is(word::s_comma);
}

stmt_ptr parser::parse_jump() {
  auto s = make(stmt_kind::return_);
  switch (take().what) {
    case word::k_break:
      s->kind = stmt_kind::break_;
      break;
    case word::k_continue:
      s->kind = stmt_kind::continue_;
      break;
    case word::k_fail:
      s->kind = stmt_kind::fail;
      s->a = parse_expr();
      break;
    default:
      if (!at_end_of_expression()) s->a = parse_expr();
  }
  s->at = s->at.to(last_span());
  return s;
}

stmt_ptr parser::parse_simple() {
  auto s = make(stmt_kind::expression);
  s->a = parse_expr();
  switch (now().what) {
    case word::s_set:
    case word::s_add_set:
    case word::s_sub_set:
    case word::s_mul_set:
    case word::s_div_set:
      s->kind = stmt_kind::assign;
      s->op = take().what;
      skip_lines();
      s->b = parse_expr();
      break;
    default:
      break;
  }
  s->at = s->at.to(last_span());
  return s;
}

}  // namespace heddle::draft
