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
  // A lambda may be no coroutine that captures, so the kinds are asked one after the other.
  if (const let_stmt* const x = s.get<let_stmt>()) {
    val v;
    if (x->value)
      v = co_await eval(t, a, *x->value);
    else
      v = zero_of(*x->var->type);
    bind(a, x->var, std::move(v));
    co_return way::on;
  }
  if (const expression_stmt* const x = s.get<expression_stmt>()) {
    static_cast<void>(co_await eval(t, a, *x->value));
    co_return way::on;
  }
  if (const assign_stmt* const x = s.get<assign_stmt>()) {
    val v = co_await eval(t, a, *x->value);
    val* const at = co_await place(t, a, *x->to);
    if (x->op == word::s_set)
      *at = std::move(v);
    else
      at->n = arithmetic(x->computes(), *x->to->type, at->n, v.n, s.at);
    co_return way::on;
  }
  if (const if_stmt* const x = s.get<if_stmt>()) {
    if (co_await holds(t, a, x->when)) co_return co_await exec(t, a, x->body);
    if (x->otherwise) co_return co_await exec(t, a, *x->otherwise);
    co_return way::on;
  }
  const while_stmt* const while_ = s.get<while_stmt>();
  const loop_stmt* const loop = s.get<loop_stmt>();
  if (while_ != nullptr || loop != nullptr) {
    for (;;) {
      if (while_ != nullptr && !co_await holds(t, a, while_->when)) co_return way::on;
      const way w = co_await exec(t, a, while_ != nullptr ? while_->body : loop->body);
      if (w == way::brk) co_return way::on;
      if (w == way::ret) co_return w;
      step();
    }
  }
  if (const for_stmt* const x = s.get<for_stmt>()) co_return co_await exec_for(t, a, *x);
  if (const match_stmt* const x = s.get<match_stmt>()) {
    const val subject = co_await eval(t, a, *x->value);
    const bool text = x->value->final_type()->is(kind::view);
    const match_arm* chosen = nullptr;
    for (const match_arm& arm : x->arms) {
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
  if (const any_stmt* const x = s.get<any_stmt>()) co_return co_await exec_any(t, a, *x);
  if (const scope_stmt* const x = s.get<scope_stmt>()) {
    scope_state scope;
    scope.inside->outer = t.here;
    t.scopes.push_back(&scope);
    bound* const before = t.here;
    t.here = scope.inside.get();
    std::exception_ptr error;
    way w = way::on;
    try {
      w = co_await exec(t, a, x->body);
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
    while (
        std::any_of(scope.jobs.begin(), scope.jobs.end(), [](const auto& j) { return !j->ended; }))
      co_await parking{*this, t, INT64_MAX};
    t.here = before;
    t.scopes.pop_back();
    if (error) std::rethrow_exception(error);
    co_return w;
  }
  if (const wait_stmt* const x = s.get<wait_stmt>()) co_return co_await exec_wait(t, a, *x);
  if (const nowait_stmt* const x = s.get<nowait_stmt>()) co_return co_await exec(t, a, x->body);
  const shield_stmt* const shield = s.get<shield_stmt>();
  const within_stmt* const within = s.get<within_stmt>();
  if (shield != nullptr || within != nullptr) {
    auto b = std::make_shared<bound>();
    b->outer = t.here;
    if (shield != nullptr) {
      b->shield = true;
    } else {
      const val span = co_await eval(t, a, *within->limit);
      b->due = later(static_cast<std::int64_t>(span.n));
      if (b->due <= now_) b->canceled = b->timed = true;
    }
    t.here = b.get();
    std::exception_ptr error;
    way w = way::on;
    try {
      w = co_await exec(t, a, shield != nullptr ? shield->body : within->body);
    } catch (...) {
      error = std::current_exception();
    }
    t.here = b->outer;
    if (error) std::rethrow_exception(error);
    co_return w;
  }
  if (const return_stmt* const x = s.get<return_stmt>()) {
    if (x->value) {
      val v = co_await eval(t, a, *x->value);
      a.result = std::move(v);
    }
    co_return way::ret;
  }
  if (s.is<break_stmt>()) co_return way::brk;
  if (s.is<continue_stmt>()) co_return way::cont;
  if (const fail_stmt* const x = s.get<fail_stmt>()) {
    const val e = co_await eval(t, a, *x->error);
    throw leaving{e.n > 0 ? static_cast<std::uint32_t>(e.n) : error_code("invalid")};
  }
  throw unsupported{"a statement"};
}

co<bool> interpreter::holds(thread_state& t, activation& a, const condition& c) {
  const val v = co_await eval(t, a, *c.value);
  if (c.name.empty()) co_return v.n != 0;
  if (v.parts.empty()) co_return false;
  bind(a, c.var, v.parts[0]);
  co_return true;
}

co<way> interpreter::exec_for(thread_state& t, activation& a, const for_stmt& s) {
  std::vector<val> items;
  __int128 first = 0, last = 0;
  const range_expr* const range = s.over->get<range_expr>();
  const bool ranged = range != nullptr;
  if (ranged) {
    if (range->from) first = (co_await eval(t, a, *range->from)).n;
    last = (co_await eval(t, a, *range->to)).n;
  } else if (s.over->type->is(kind::array)) {
    last = static_cast<__int128>(s.over->type->count);
  } else {
    const val v = co_await eval(t, a, *s.over);
    for (const char c : v.s) {
      val x;
      x.n = static_cast<unsigned char>(c);
      items.push_back(x);
    }
    last = static_cast<__int128>(items.size());
  }
  for (__int128 i = first; i < last; ++i) {
    step();
    val index;
    index.n = i;
    if (ranged) {
      bind(a, s.var, index);
    } else {
      val element;
      if (s.over->type->is(kind::array)) {
        val* const at = co_await place(t, a, *s.over);
        element = at->parts[static_cast<std::size_t>(i)];
      } else {
        element = items[static_cast<std::size_t>(i)];
      }
      if (s.second_var != nullptr) {
        bind(a, s.var, index);
        bind(a, s.second_var, std::move(element));
      } else {
        bind(a, s.var, std::move(element));
      }
    }
    const way w = co_await exec(t, a, s.body);
    if (w == way::brk) break;
    if (w == way::ret) co_return w;
  }
  co_return way::on;
}

co<way> interpreter::exec_wait(thread_state& t, activation& a, const wait_stmt& s) {
  std::vector<std::pair<const expr*, std::shared_ptr<object>>> made;
  for (const expr* e : s.events) {
    made.emplace_back(e, std::make_shared<object>());
    a.events[e] = made.back().second;
  }
  const way w = co_await exec(t, a, s.body);
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

co<way> interpreter::exec_any(thread_state& t, activation& a, const any_stmt& s) {
  struct arm {
    const any_arm* source;
    std::int64_t due = INT64_MAX;
    std::shared_ptr<object> on;
    val sent;
  };
  std::vector<arm> arms;
  const any_arm* otherwise = nullptr;
  for (const any_arm& x : s.arms) {
    if (x.kind == any_arm::form::failed) {
      otherwise = &x;
      continue;
    }
    arm made{&x, INT64_MAX, nullptr, {}};
    const call_expr* const call = x.what->get<call_expr>();
    if (x.kind == any_arm::form::after) {
      made.due = later(static_cast<std::int64_t>((co_await eval(t, a, *x.what)).n));
    } else if (call->op->on == receiver::time && call->op->name == "sleep") {
      made.due = later(static_cast<std::int64_t>((co_await eval(t, a, *call->args[0].value)).n));
    } else {
      made.on = (co_await eval(t, a, *call->receiver())).handle;
      if (!call->args.empty()) made.sent = co_await eval(t, a, *call->args[0].value);
    }
    arms.push_back(std::move(made));
  }
  std::size_t& won = won_[&s];
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
      arm& x = arms[i];
      if (ended) {
        code = ended;
        winner = &x;
        won = i + 1;
        break;
      }
      try {
        if (x.on == nullptr) {
          if (now_ < x.due) continue;
        } else if (!try_operation(*x.source->what->as<call_expr>().op, *x.on, x.on, x.sent, got)) {
          continue;
        }
      } catch (const op_error& e) {
        code = e.code;
      }
      winner = &x;
      won = i + 1;
    }
    if (winner != nullptr) break;
    std::int64_t until = INT64_MAX;
    for (const arm& x : arms) until = std::min(until, x.due);
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
