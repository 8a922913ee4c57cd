// SPDX-License-Identifier: MIT
// Types of statements.
#include <algorithm>
#include <set>

#include "draft/checker.hh"

namespace heddle::draft {
namespace {

/// Operations that take nothing before they answer; the others have given memory to the kernel.
bool withdraws(const operation& op) noexcept {
  return op.end == 1 || op.on == receiver::channel || op.on == receiver::time;
}

}  // namespace

void checker::check_block(block& b) {
  const names_here scope(*this);
  bool left = false;
  for (std::size_t i = 0; i != b.body.size(); ++i) {
    stmt& s = *b.body[i];
    if (left) {
      auto& d = error("D0802", s.at, "this is never reached");
      d.notes.push_back({b.body[i - 1]->at, "because of this"});
      left = false;
    }
    check_stmt(s);
    if (leaves(s)) left = true;
    if (function_ != nullptr) ++function_->size;
  }
}

void checker::check_stmt(stmt& s) {
  const span at = s.at;
  by_kind(
      s, [](bad_stmt&) {}, [&](let_stmt& x) { check_let(x, at); },
      [&](expression_stmt& x) { check_expression_stmt(*x.value); },
      [&](assign_stmt& x) { check_assign(x, at); },
      [&](if_stmt& x) {
        {
          const names_here scope(*this);
          check_condition(x.when);
          check_block(x.body);
        }
        if (x.otherwise) check_block(*x.otherwise);
      },
      [&](while_stmt& x) {
        const names_here scope(*this);
        check_condition(x.when);
        check_loop(x.body);
      },
      [&](loop_stmt& x) {
        check_loop(x.body);
        x.endless = !breaks(x.body);
      },
      [&](for_stmt& x) { check_for(x); }, [&](match_stmt& x) { check_match(x, at); },
      [&](any_stmt& x) { check_any(x, at); }, [&](wait_stmt& x) { check_wait(x, at); },
      [&](scope_stmt& x) {
        ++scopes_;
        check_block(x.body);
        --scopes_;
      },
      [&](one_of<nowait_stmt, shield_stmt> auto& x) { check_block(x.body); },
      [&](within_stmt& x) {
        check_value(*x.limit, types_.basic(kind::duration), "'within'");
        check_block(x.body);
      },
      [&](defer_stmt& x) {
        if (!x.value) return check_block(x.body);
        check(*x.value);
        refuse_fallible(*x.value);
        if (x.value->is<try_expr>())
          error("D0402", x.value->at,
                "'try' cannot leave from here: the block is being left already")
              .hint = "handle the error with 'or { }'";
      },
      [&](return_stmt& x) { check_return(x, at); }, [&](break_stmt&) { check_jump("'break'", at); },
      [&](continue_stmt&) { check_jump("'continue'", at); },
      [&](fail_stmt& x) { check_fail(x, at); });
}

void checker::check_loop(block& b) {
  ++loops_;
  check_block(b);
  --loops_;
}

void checker::check_wait(wait_stmt& x, span at) {
  waits_.push_back({&x, scope_.size()});
  check_block(x.body);
  if (!waits_.back().tried)
    error("D0004", at, "this 'wait' makes no event, so it waits for nothing").hint =
        "event(x) makes one, whose value becomes that of x";
  waits_.pop_back();
}

void checker::check_jump(const char* name, span at) {
  if (loops_ == 0) error("D0004", at, std::string(name) + " stands in a loop");
}

void checker::check_fail(fail_stmt& x, span at) {
  check_value(*x.error, types_.basic(kind::error), "'fail'");
  if (may_fail_here()) return;
  auto& d = error("D0402", at, name_here() + " has no error to give");
  note_result_here(d);
  d.hint = "add '!' to its result";
}

void checker::check_assign(assign_stmt& x, span at) {
  const type* const t = check(*x.to);
  refuse_fallible(*x.to);
  if (t->is(kind::poison)) {
    check(*x.value);
    x.value->fallible = false;
    return;
  }
  if (!is_place(*x.to)) {
    error("D0004", x.to->at, "only a variable can be changed");
  } else {
    const variable& v = *root_of(*x.to);
    if (!v.is_var) {
      auto& d = error("D0004", x.to->at, quoted(v.name) + " cannot be changed");
      d.notes.push_back({v.at, "it is declared here"});
      d.hint = v.is_param() ? (v.type->needs_release() ? "give it to a 'var' first"
                                                       : "make the parameter 'var " + v.name + "'")
                            : "declare it with 'var'";
    }
    if (const index_expr* const part = x.to->get<index_expr>();
        part != nullptr && t->is(kind::u8) && !part->of->type->is(kind::array))
      error("D0004", x.to->at, "bytes of a " + part->of->type->name + " cannot be changed");
  }
  if (x.op == word::s_set) {
    check_value(*x.value, t, "the variable");
    if (x.value->to != nullptr && x.value->to->is(kind::view) && is_temporary(*x.value))
      refuse_temporary(*x.value);
    if (x.value->type->is_owned() && is_place(*x.value) && !x.value->is<move_expr>())
      error("D0901", x.value->at, "a " + x.value->type->name + " has one owner and is not copied")
          .hint = "write 'move'";
    return;
  }
  const bool duration_ok =
      t->is(kind::duration) && (x.op == word::s_add_set || x.op == word::s_sub_set);
  if (!t->is_integer() && !duration_ok) {
    error("D0004", at, quoted(spelling(x.op)) + " is for integers, and this is " + t->name);
    check(*x.value);
    x.value->fallible = false;
    return;
  }
  check_value(*x.value, t, "the variable");
  if (x.op == word::s_div_set && x.value->is_constant && x.value->number == 0)
    error("D1102", x.value->at, "a division by zero");
}

void checker::check_condition(condition& c) {
  if (c.name.empty()) {
    check_value(*c.value, types_.basic(kind::boolean), "a condition");
    return;
  }
  const type* t = check(*c.value);
  refuse_fallible(*c.value);
  if (!t->is(kind::optional)) {
    if (!t->is(kind::poison))
      error("D0004", c.value->at,
            "'let' asks whether an optional has a value, and this is " + t->name);
    t = poison();
  } else {
    if (t->is_owned() && is_place(*c.value)) move_from(*c.value, c.value->at, false);
    t = t->of;
  }
  c.var = declare(c.name, c.name_at, t, false);
}

void checker::check_for(for_stmt& x) {
  const names_here scope(*this);
  const type* const t = check(*x.over);
  refuse_fallible(*x.over);
  const type* const integer = types_.basic(kind::i64);
  const type* element = poison();
  if (t->is(kind::range)) {
    if (const range_expr* const range = x.over->get<range_expr>(); range != nullptr && !range->to)
      error("D0004", x.over->at, "this range has no end").hint = "0..n, without n";
    if (!x.second.empty())
      error("D0004", x.second_at, "a range has numbers only").hint = "for i in a..b";
    element = integer;
  } else if (t->is(kind::array)) {
    if (!is_place(*x.over)) error("D0004", x.over->at, "an array is gone through in a variable");
    element = t->of;
  } else if (t->is(kind::view) || t->is(kind::bytes) || t->is(kind::text)) {
    convert(*x.over, types_.basic(kind::view), nullptr);
    element = types_.basic(kind::u8);
  } else if (!t->is(kind::poison)) {
    auto& d = error("D0004", x.over->at, "a " + t->name + " cannot be gone through");
    if (t->is_integer()) d.hint = "for i in 0..n";
  }
  if (!x.second.empty()) {
    x.var = declare(x.name, x.name_at, integer, false);
    x.second_var = declare(x.second, x.second_at, element, false);
  } else {
    x.var = declare(x.name, x.name_at, element, false);
  }
  check_loop(x.body);
}

void checker::check_match(match_stmt& x, span at) {
  const type* const t = check(*x.value);
  refuse_fallible(*x.value);
  const bool textual = t->is(kind::view) || t->is(kind::bytes) || t->is(kind::text);
  if (!t->is(kind::poison) && !t->is_integer() && !t->is(kind::enumeration) &&
      !t->is(kind::boolean) && !t->is(kind::error) && !textual) {
    error("D0004", x.value->at, "a " + t->name + " cannot be matched");
  }
  if (textual) convert(*x.value, types_.basic(kind::view), nullptr);
  std::set<std::string> seen;
  const match_arm* otherwise = nullptr;
  for (match_arm& arm : x.arms) {
    if (otherwise != nullptr) {
      auto& d = error("D0802", arm.at, "this case is never reached");
      d.notes.push_back({otherwise->at, "'else' takes all that is left"});
    }
    if (arm.otherwise) otherwise = &arm;
    for (expr_ptr& p : arm.patterns) {
      const type* const wanted = textual ? types_.basic(kind::view) : t;
      check_value(*p, wanted, "the case");
      std::string key;
      if (textual && (p->is<text_expr>() || p->means == meaning::constant)) {
        key = "t" + bytes_of(*p);
      } else if (p->is_constant || p->means == meaning::error_name) {
        key = to_decimal(p->number);
      } else if (!p->type->is(kind::poison) && !t->is(kind::poison)) {
        error("D0004", p->at, "a case is a constant").hint = "compare with 'if'";
        continue;
      }
      if (!seen.insert(key).second && !p->type->is(kind::poison))
        error("D0802", p->at, "this case stands here twice");
    }
    check_block(arm.body);
  }
  if (x.arms.empty()) {
    error("D0801", at, "a 'match' has at least one case");
    return;
  }
  if (otherwise != nullptr || t->is(kind::poison)) {
    if (otherwise != nullptr && t->is(kind::enumeration) && seen.size() == t->values->values.size())
      error("D0802", otherwise->at,
            "this case is never reached: all values of " + t->name + " have one")
          .hint = "delete it";
    return;
  }
  std::string missing;
  if (t->is(kind::enumeration)) {
    for (const enumeration::value& v : t->values->values)
      if (seen.count(std::to_string(v.number)) == 0)
        missing += (missing.empty() ? "" : ", ") + v.name;
  } else if (t->is(kind::boolean)) {
    if (seen.count("1") == 0) missing = "true";
    if (seen.count("0") == 0) missing += missing.empty() ? "false" : ", false";
  } else {
    missing = "else";
  }
  if (!missing.empty())
    error("D0801", at, "this 'match' has no case for " + missing).hint = "add it, or 'else => ...'";
}

void checker::check_any(any_stmt& x, span at) {
  struct use {
    const variable* on;
    std::uint8_t end;
    span at;
  };
  std::vector<use> uses;
  std::size_t waits = 0, after = 0, failed = 0;
  for (any_arm& arm : x.arms) {
    const names_here scope(*this);
    switch (arm.kind) {
      case any_arm::form::after:
        if (++after > 1) error("D1201", arm.at, "one 'after' is enough: the shortest");
        check_value(*arm.what, types_.basic(kind::duration), "'after'");
        break;
      case any_arm::form::failed:
        if (++failed > 1) error("D0802", arm.at, "one 'else' takes the errors of all arms");
        arm.var = declare(arm.name, arm.name_at, types_.basic(kind::error), false);
        if (arm.var != nullptr) {
          arm.var->role = variable_role::error;
          arm.var->used = true;
        }
        break;
      case any_arm::form::wait: {
        ++waits;
        const type* const t = check(*arm.what);
        expr& e = *arm.what;
        const call_expr* const call = e.get<call_expr>();
        const operation* const op = call != nullptr ? call->op : nullptr;
        if (t->is(kind::poison)) {
        } else if (op == nullptr || !op->waits) {
          auto& d = error("D0004", arm.at, "an arm of 'any' is one operation that waits");
          d.hint = e.means == meaning::function ? "spawn the function, and join it here"
                                                : "c.receive(), ch.receive(), job.join(), ...";
        } else if (!withdraws(*op)) {
          auto& d = error("D0004", arm.at,
                          quoted(op->name) + " cannot be withdrawn when another arm wins");
          d.hint = "do it in a function, spawn that, and join it here";
        } else if (op->end != 0) {
          if (const variable* const on = call->receiver()->local()) {
            for (const use& u : uses) {
              if (u.on != on || u.end != op->end) continue;
              auto& d = error("D1201", arm.at, "two arms wait for one end of " + quoted(on->name));
              d.notes.push_back({u.at, "the other"});
              d.hint = "which of them gets what comes would be chance";
            }
            uses.push_back({on, op->end, arm.at});
          }
        }
        e.fallible = false;
        if (!arm.name.empty()) {
          if (t->is(kind::void_)) {
            error("D0004", arm.name_at, "this operation gives no value");
            arm.var = declare(arm.name, arm.name_at, poison(), false);
          } else {
            arm.var = declare(arm.name, arm.name_at, t, false);
          }
        } else if (!t->is(kind::void_) && !t->is(kind::poison) && !t->is_owned()) {
          error("D1402", arm.at, "the result is not used").hint = "give it a name, as _ = ...";
        }
        break;
      }
    }
    check_block(arm.body);
  }
  if (waits == 0) error("D0004", at, "'any' has at least one arm that waits");
}

void checker::check_return(return_stmt& x, span at) {
  const type* const t = result_here();
  if (!x.value) {
    if (!t->is(kind::void_) && !t->is(kind::poison))
      error("D0004", at, name_here() + " gives a " + t->name + ", and here is none");
    return;
  }
  // `return try c.write(x)` in a function without a value: the call is made, then it returns.
  check(*x.value, t);
  give_result(*x.value);
}

void checker::give_result(expr& value) {
  const type* const t = result_here();
  refuse_fallible(value);
  if (t->is(kind::void_)) {
    if (!value.type->is(kind::void_) && !value.type->is(kind::poison))
      error("D0004", value.at, name_here() + " gives no value").hint = "delete it";
    return;
  }
  convert(value, t, "the result");
  if (value.type->is_owned() && is_place(value)) move_from(value, value.at, false);
}

void checker::check_expression_stmt(expr& e) {
  or_expr* const handles = e.get<or_expr>();
  if (handles != nullptr) handles->discards = true;
  const type* const t = check(e);
  if (e.fallible) {
    auto& d = error("D0401", e.at, "this may be an error, which is ignored here");
    d.hint = "pass it on with 'try', or handle it with 'or { }'";
    e.fallible = false;
    return;
  }
  if (t->is(kind::poison) || t->is(kind::void_)) return;
  if (e.is<spawn_expr>() || (handles != nullptr && !handles->otherwise)) return;
  auto& d = error("D1402", e.at, "the result is not used");
  d.hint = "write 'let _ = ...' if it does not matter";
}

}  // namespace heddle::draft
