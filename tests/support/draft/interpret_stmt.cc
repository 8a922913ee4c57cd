// SPDX-License-Identifier: MIT
// Interprets statements.
#include <algorithm>

#include "support/draft/interpreter.hh"

namespace heddle::draft {

co<way> interpreter::exec(thread_state& t, activation& a, const block& b) {
  std::vector<const defer_stmt*> defers;
  std::exception_ptr error;
  way w = way::on;
  std::vector<const variable*> mine;
  try {
    for (const stmt_ptr& s : b.body) {
      if (const defer_stmt* const d = s->get<defer_stmt>()) {
        defers.push_back(d);
        continue;
      }
      if (const let_stmt* const l = s->get<let_stmt>()) mine.push_back(l->var);
      w = co_await exec(t, a, *s);
      if (w != way::on) break;
    }
  } catch (const jumping& j) {
    w = j.where;
  } catch (...) {
    error = std::current_exception();
  }
  // Owners and defers go in reverse; only defers can be seen.
  while (!defers.empty()) {
    const defer_stmt& d = *defers.back();
    defers.pop_back();
    try {
      if (d.value) {
        static_cast<void>(co_await eval(t, a, *d.value));
      } else {
        static_cast<void>(co_await exec(t, a, d.body));
      }
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  for (const variable* v : mine) a.vars.erase(v);
  if (error) std::rethrow_exception(error);
  co_return w;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt& s) {
  step();
  // A lambda may be no coroutine that captures: it only chooses the coroutine of the kind.
  return std::visit([&](const auto& x) { return exec(t, a, s, x); }, s.how);
}

co<way> interpreter::exec(thread_state&, activation&, const stmt&, const bad_stmt&) {
  throw unsupported{"a bad statement"};
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const let_stmt& x) {
  val v;
  if (x.value)
    v = co_await eval(t, a, *x.value);
  else
    v = zero_of(*x.var->type);
  bind(a, x.var, std::move(v));
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const expression_stmt& x) {
  static_cast<void>(co_await eval(t, a, *x.value));
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt& s, const assign_stmt& x) {
  val v = co_await eval(t, a, *x.value);
  val* const at = co_await place(t, a, *x.to);
  if (x.op == word::s_set)
    *at = std::move(v);
  else
    at->n = arithmetic(x.computes(), *x.to->type, at->n, v.n, s.at);
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const if_stmt& x) {
  // A variable holds the condition: with co_await inside the condition of `if`, GCC 12 loses the
  // values that the frame holds.
  const bool yes = co_await holds(t, a, x.when);
  const block* const chosen = yes ? &x.body : x.otherwise ? &*x.otherwise : nullptr;
  if (chosen == nullptr) co_return way::on;
  co_return co_await exec(t, a, *chosen);
}

co<way> interpreter::repeat(thread_state& t, activation& a, const condition* when,
                            const block& body) {
  for (;;) {
    bool goes_on = true;
    if (when != nullptr) goes_on = co_await holds(t, a, *when);
    if (!goes_on) co_return way::on;
    const way w = co_await exec(t, a, body);
    if (w == way::brk) co_return way::on;
    if (w == way::ret) co_return w;
    step();
  }
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const while_stmt& x) {
  return repeat(t, a, &x.when, x.body);
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const loop_stmt& x) {
  return repeat(t, a, nullptr, x.body);
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const match_stmt& x) {
  const val subject = co_await eval(t, a, *x.value);
  const bool text = x.value->final_type()->is(kind::view);
  const match_arm* chosen = nullptr;
  for (const match_arm& arm : x.arms) {
    bool hit = arm.otherwise;
    for (const expr_ptr& p : arm.patterns)
      hit |= text ? bytes_of(*p) == subject.s : p->number == subject.n;
    if (hit) {
      chosen = &arm;
      break;
    }
  }
  if (chosen != nullptr) co_return co_await exec(t, a, chosen->body);
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const scope_stmt& x) {
  scope_state scope;
  scope.inside->outer = t.here;
  t.scopes.push_back(&scope);
  bound* const before = t.here;
  t.here = scope.inside.get();
  std::exception_ptr error;
  way w = way::on;
  try {
    w = co_await exec(t, a, x.body);
  } catch (...) {
    error = std::current_exception();
  }
  t.here = before;
  if (error || w != way::on) {
    scope.inside->canceled = true;
    changed();
  }
  bound shield;
  shield.shield = true;
  t.here = &shield;
  while (std::any_of(scope.jobs.begin(), scope.jobs.end(), [](const auto& j) { return !j->ended; }))
    co_await parking{*this, t, INT64_MAX};
  t.here = before;
  t.scopes.pop_back();
  if (error) std::rethrow_exception(error);
  co_return w;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const nowait_stmt& x) {
  return exec(t, a, x.body);
}

co<way> interpreter::exec_bounded(thread_state& t, activation& a, bound& b, const block& body) {
  b.outer = t.here;
  t.here = &b;
  std::exception_ptr error;
  way w = way::on;
  try {
    w = co_await exec(t, a, body);
  } catch (...) {
    error = std::current_exception();
  }
  t.here = b.outer;
  if (error) std::rethrow_exception(error);
  co_return w;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const shield_stmt& x) {
  bound b;
  b.shield = true;
  co_return co_await exec_bounded(t, a, b, x.body);
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const within_stmt& x) {
  const val span = co_await eval(t, a, *x.limit);
  bound b;
  b.due = later(static_cast<std::int64_t>(span.n));
  if (b.due <= now_) b.canceled = b.timed = true;
  co_return co_await exec_bounded(t, a, b, x.body);
}

/// The block that it is in runs it at its end.
co<way> interpreter::exec(thread_state&, activation&, const stmt&, const defer_stmt&) {
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const return_stmt& x) {
  if (x.value) {
    val v = co_await eval(t, a, *x.value);
    a.result = std::move(v);
  }
  co_return way::ret;
}

co<way> interpreter::exec(thread_state&, activation&, const stmt&, const break_stmt&) {
  co_return way::brk;
}

co<way> interpreter::exec(thread_state&, activation&, const stmt&, const continue_stmt&) {
  co_return way::cont;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const fail_stmt& x) {
  const val e = co_await eval(t, a, *x.error);
  throw leaving{e.n > 0 ? static_cast<std::uint32_t>(e.n) : error_code("invalid")};
}

co<bool> interpreter::holds(thread_state& t, activation& a, const condition& c) {
  const val v = co_await eval(t, a, *c.value);
  if (c.name.empty()) co_return v.n != 0;
  if (v.parts.empty()) co_return false;
  bind(a, c.var, v.parts[0]);
  co_return true;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const for_stmt& x) {
  std::vector<val> items;
  __int128 first = 0, last = 0;
  const range_expr* const range = x.over->get<range_expr>();
  const bool ranged = range != nullptr;
  if (ranged) {
    if (range->from) first = (co_await eval(t, a, *range->from)).n;
    last = (co_await eval(t, a, *range->to)).n;
  } else if (x.over->type->is(kind::array)) {
    last = static_cast<__int128>(x.over->type->count);
  } else {
    const val v = co_await eval(t, a, *x.over);
    for (const char c : v.s) {
      val byte;
      byte.n = static_cast<unsigned char>(c);
      items.push_back(byte);
    }
    last = static_cast<__int128>(items.size());
  }
  for (__int128 i = first; i < last; ++i) {
    step();
    val index;
    index.n = i;
    if (ranged) {
      bind(a, x.var, index);
    } else {
      val element;
      if (x.over->type->is(kind::array)) {
        val* const at = co_await place(t, a, *x.over);
        element = at->parts[static_cast<std::size_t>(i)];
      } else {
        element = items[static_cast<std::size_t>(i)];
      }
      if (x.second_var != nullptr) {
        bind(a, x.var, index);
        bind(a, x.second_var, std::move(element));
      } else {
        bind(a, x.var, std::move(element));
      }
    }
    const way w = co_await exec(t, a, x.body);
    if (w == way::brk) break;
    if (w == way::ret) co_return w;
  }
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const wait_stmt& x) {
  std::vector<std::pair<const expr*, std::shared_ptr<object>>> made;
  for (const expr* e : x.events) {
    made.emplace_back(e, std::make_shared<object>());
    a.events[e] = made.back().second;
  }
  const way w = co_await exec(t, a, x.body);
  if (w != way::on) co_return w;
  for (const auto& [e, rendezvous] : made) {
    while (!rendezvous->values.empty() || rendezvous->left != 0) {
      if (const auto code = t.here->reason()) throw leaving{*code};
      if (rendezvous->values.empty()) {
        co_await parking{*this, t, INT64_MAX};
        continue;
      }
      val some;
      some.parts.push_back(std::move(rendezvous->values.front()));
      rendezvous->values.pop_front();
      *slot(a, e->as<call_expr>().args[0].value->local()) = std::move(some);
    }
  }
  co_return way::on;
}

co<way> interpreter::exec(thread_state& t, activation& a, const stmt&, const any_stmt& x) {
  struct arm {
    const any_arm* source;
    std::int64_t due = INT64_MAX;
    std::shared_ptr<object> on;
    val sent;
  };
  std::vector<arm> arms;
  const any_arm* otherwise = nullptr;
  for (const any_arm& written : x.arms) {
    if (written.kind == any_arm::form::failed) {
      otherwise = &written;
      continue;
    }
    arm made{&written, INT64_MAX, nullptr, {}};
    const call_expr* const call = written.what->get<call_expr>();
    if (written.kind == any_arm::form::after) {
      made.due = later(static_cast<std::int64_t>((co_await eval(t, a, *written.what)).n));
    } else if (call->op->on == receiver::time && call->op->name == "sleep") {
      made.due = later(static_cast<std::int64_t>((co_await eval(t, a, *call->args[0].value)).n));
    } else {
      made.on = (co_await eval(t, a, *call->receiver())).handle;
      if (!call->args.empty()) made.sent = co_await eval(t, a, *call->args[0].value);
    }
    arms.push_back(std::move(made));
  }
  std::size_t& won = won_[&x];
  std::optional<std::uint32_t> code;
  const arm* winner = nullptr;
  val got;
  for (;;) {
    const std::optional<std::uint32_t> ended = t.here->reason();
    for (std::size_t turn = 0; turn <= arms.size() && winner == nullptr; ++turn) {
      // As written, but the last winner comes last.
      std::size_t i = turn;
      if (turn == arms.size()) {
        if (won == 0) break;
        i = won - 1;
      } else if (won == turn + 1) {
        continue;
      }
      arm& asked = arms[i];
      if (ended) {
        code = ended;
        winner = &asked;
        won = i + 1;
        break;
      }
      try {
        if (asked.on == nullptr) {
          if (now_ < asked.due) continue;
        } else if (!try_operation(*asked.source->what->as<call_expr>().op, *asked.on, asked.on,
                                  asked.sent, got)) {
          continue;
        }
      } catch (const op_error& e) {
        code = e.code;
      }
      winner = &asked;
      won = i + 1;
    }
    if (winner != nullptr) break;
    std::int64_t until = INT64_MAX;
    for (const arm& asked : arms) until = std::min(until, asked.due);
    co_await parking{*this, t, until};
  }
  changed();
  if (code) {
    if (otherwise == nullptr) throw leaving{*code};
    val e;
    e.n = *code;
    bind(a, otherwise->var, e);
    co_return co_await exec(t, a, otherwise->body);
  }
  bind(a, winner->source->var, std::move(got));
  co_return co_await exec(t, a, winner->source->body);
}

}  // namespace heddle::draft
