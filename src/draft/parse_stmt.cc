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

stmt_ptr parser::parse_stmt() {
  const nested deeper(*this);
  switch (now().what) {
    case word::k_let:
    case word::k_var:
      return parse_let();
    case word::k_if:
      return parse_if();
    case word::k_while: {
      const span first = span_of(take());
      condition when = parse_condition();
      const span at = first.to(last_span());
      return make_stmt(at, while_stmt{std::move(when), parse_block()});
    }
    case word::k_loop:
      return parse_plain<loop_stmt>();
    case word::k_wait:
      return parse_plain<wait_stmt>();
    case word::k_scope:
      return parse_plain<scope_stmt>();
    case word::k_nowait:
      return parse_plain<nowait_stmt>();
    case word::k_shield:
      return parse_plain<shield_stmt>();
    case word::k_within: {
      const span first = span_of(take());
      expr_ptr limit = parse_or();
      const span at = first.to(last_span());
      return make_stmt(at, within_stmt{std::move(limit), parse_block()});
    }
    case word::k_for:
      return parse_for();
    case word::k_match:
      return parse_match();
    case word::k_any:
      return parse_any();
    case word::k_defer: {
      const span first = span_of(take());
      defer_stmt x;
      if (is(word::k_shield)) {
        x.body.at = span_of(now());
        x.body.body.push_back(parse_stmt());
      } else {
        x.value = parse_expr();
      }
      return make_stmt(first.to(last_span()), std::move(x));
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

stmt_ptr parser::parse_let() {
  const span first = span_of(now());
  let_stmt x;
  x.is_var = take().is(word::k_var);
  x.name_at = span_of(now());
  x.name = expect_name("the variable's name");
  if (accept(word::s_colon)) x.type = parse_type();
  if (accept(word::s_set)) {
    x.value = parse_expr();
  } else if (!x.type) {
    fail("expected '=' and the variable's value, found " + shown(now()));
  } else if (!x.is_var) {
    fail("a 'let' needs its value at once, found " + shown(now()), "'var' may get its value later");
  }
  return make_stmt(first.to(last_span()), std::move(x));
}

condition parser::parse_condition() {
  condition c;
  if (accept(word::k_let)) {
    c.name_at = span_of(now());
    c.name = expect_name("the variable's name");
    expect(word::s_set, "and an optional value");
  }
  c.value = parse_or();
  if (is(word::s_set)) fail("this is a condition, and '=' changes a variable", "'==' compares");
  return c;
}

stmt_ptr parser::parse_if() {
  const nested deeper(*this);
  const span first = span_of(take());
  condition when = parse_condition();
  const span at = first.to(last_span());
  if_stmt x{std::move(when), parse_block(), {}};
  if (accept(word::k_else)) {
    if (is(word::k_if)) {
      x.otherwise.emplace();
      x.otherwise->at = span_of(now());
      x.otherwise->body.push_back(parse_if());
    } else {
      x.otherwise = parse_block();
    }
  }
  return make_stmt(at, std::move(x));
}

stmt_ptr parser::parse_for() {
  const span first = span_of(take());
  for_stmt x;
  x.name_at = span_of(now());
  x.name = expect_name("the loop's variable");
  if (accept(word::s_comma)) {
    x.second_at = span_of(now());
    x.second = expect_name("the second variable");
  }
  expect(word::k_in, "before what is gone through");
  x.over = parse_range();
  const span at = first.to(last_span());
  x.body = parse_block();
  return make_stmt(at, std::move(x));
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
  const span first = span_of(take());
  match_stmt x{parse_or()};
  const span at = first.to(last_span());
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
    x.arms.push_back(std::move(arm));
  });
  return make_stmt(at, std::move(x));
}

stmt_ptr parser::parse_any() {
  const span at = span_of(take());
  any_stmt x;
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
    x.arms.push_back(std::move(arm));
  });
  return make_stmt(at, std::move(x));
}

bool parser::at_end_of_expression() const noexcept {
  return now().kind == token_kind::newline || at_end() || is(word::s_rbrace) ||
         is(word::s_rparen) || is(word::s_rbracket) || is(word::s_comma);
}

stmt_ptr parser::parse_jump() {
  const span first = span_of(now());
  stmt::kinds how;
  switch (take().what) {
    case word::k_break:
      how = break_stmt{};
      break;
    case word::k_continue:
      how = continue_stmt{};
      break;
    case word::k_fail:
      how = fail_stmt{parse_expr()};
      break;
    default:
      how = return_stmt{at_end_of_expression() ? nullptr : parse_expr()};
  }
  return make_stmt(first.to(last_span()), std::move(how));
}

stmt_ptr parser::parse_simple() {
  const span first = span_of(now());
  expr_ptr value = parse_expr();
  switch (now().what) {
    case word::s_set:
    case word::s_add_set:
    case word::s_sub_set:
    case word::s_mul_set:
    case word::s_div_set: {
      const word op = take().what;
      skip_lines();
      expr_ptr given = parse_expr();
      return make_stmt(first.to(last_span()), assign_stmt{op, std::move(value), std::move(given)});
    }
    default:
      return make_stmt(first.to(last_span()), expression_stmt{std::move(value)});
  }
}

}  // namespace heddle::draft
