// SPDX-License-Identifier: MIT
// Interprets statements.
#include <algorithm>

#include "support/draft/interpreter.hh"

namespace heddle::draft {

co<way> interpreter::exec(thread_state& t, activation& a, const block& b) {
  std::vector<const stmt*> defers;
  std::exception_ptr error;
  way w = way::on;
  std::vector<const variable*> mine;
  try {
    for (const stmt_ptr& s : b.body) {
      if (s->kind == stmt_kind::defer) {
        defers.push_back(s.get());
        continue;
      }
      if (s->kind == stmt_kind::let) mine.push_back(s->var);
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
    const stmt& d = *defers.back();
    defers.pop_back();
    try {
      if (d.a) {
        static_cast<void>(co_await eval(t, a, *d.a));
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
  switch (s.kind) {
    case stmt_kind::let: {
      val v;
      if (s.a)
        v = co_await eval(t, a, *s.a);
      else
        v = zero_of(*s.var->type);
      bind(a, s.var, std::move(v));
      co_return way::on;
    }
    case stmt_kind::expression:
      static_cast<void>(co_await eval(t, a, *s.a));
      co_return way::on;
    case stmt_kind::assign: {
      if (s.op == word::s_set) {
        val v = co_await eval(t, a, *s.b);
        val* const at = co_await place(t, a, *s.a);
        *at = std::move(v);
        co_return way::on;
      }
      const val right = co_await eval(t, a, *s.b);
      val* const at = co_await place(t, a, *s.a);
      const word op = s.op == word::s_add_set   ? word::s_add
                      : s.op == word::s_sub_set ? word::s_sub
                      : s.op == word::s_mul_set ? word::s_mul
                                                : word::s_div;
      at->n = arithmetic(op, *s.a->type, at->n, right.n, s.at);
      co_return way::on;
    }
    case stmt_kind::if_: {
      if (co_await condition(t, a, s)) co_return co_await exec(t, a, s.body);
      if (s.has_else) co_return co_await exec(t, a, s.else_body);
      co_return way::on;
    }
    case stmt_kind::while_:
    case stmt_kind::loop:
      for (;;) {
        if (s.kind == stmt_kind::while_ && !co_await condition(t, a, s)) co_return way::on;
        const way w = co_await exec(t, a, s.body);
        if (w == way::brk) co_return way::on;
        if (w == way::ret) co_return w;
        step();
      }
    case stmt_kind::for_:
      co_return co_await exec_for(t, a, s);
    case stmt_kind::match: {
      const val subject = co_await eval(t, a, *s.a);
      const bool text = s.a->final_type()->is(kind::view);
      const match_arm* chosen = nullptr;
      for (const match_arm& arm : s.arms) {
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
    case stmt_kind::any:
      co_return co_await exec_any(t, a, s);
    case stmt_kind::scope: {
      scope_state scope;
      scope.inside->outer = t.here;
      t.scopes.push_back(&scope);
      bound* const before = t.here;
      t.here = scope.inside.get();
      std::exception_ptr error;
      way w = way::on;
      try {
        w = co_await exec(t, a, s.body);
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
      while (std::any_of(scope.jobs.begin(), scope.jobs.end(),
                         [](const auto& j) { return !j->ended; }))
        co_await parking{*this, t, INT64_MAX};
      t.here = before;
      t.scopes.pop_back();
      if (error) std::rethrow_exception(error);
      co_return w;
    }
    case stmt_kind::wait:
      co_return co_await exec_wait(t, a, s);
    case stmt_kind::nowait:
      co_return co_await exec(t, a, s.body);
    case stmt_kind::shield:
    case stmt_kind::within: {
      auto b = std::make_shared<bound>();
      b->outer = t.here;
      if (s.kind == stmt_kind::shield) {
        b->shield = true;
      } else {
        const val span = co_await eval(t, a, *s.a);
        b->due = later(static_cast<std::int64_t>(span.n));
        if (b->due <= now_) b->canceled = b->timed = true;
      }
      t.here = b.get();
      std::exception_ptr error;
      way w = way::on;
      try {
        w = co_await exec(t, a, s.body);
      } catch (...) {
        error = std::current_exception();
      }
      t.here = b->outer;
      if (error) std::rethrow_exception(error);
      co_return w;
    }
    case stmt_kind::return_:
      if (s.a) {
        val v = co_await eval(t, a, *s.a);
        a.result = std::move(v);
      }
      co_return way::ret;
    case stmt_kind::break_:
      co_return way::brk;
    case stmt_kind::continue_:
      co_return way::cont;
    case stmt_kind::fail: {
      const val e = co_await eval(t, a, *s.a);
      throw leaving{e.n > 0 ? static_cast<std::uint32_t>(e.n) : error_code("invalid")};
    }
    default:
      throw unsupported{"a statement"};
  }
}

co<bool> interpreter::condition(thread_state& t, activation& a, const stmt& s) {
  const val v = co_await eval(t, a, *s.a);
  if (s.name.empty()) co_return v.n != 0;
  if (v.parts.empty()) co_return false;
  bind(a, s.var, v.parts[0]);
  co_return true;
}

co<way> interpreter::exec_for(thread_state& t, activation& a, const stmt& s) {
  std::vector<val> items;
  __int128 first = 0, last = 0;
  const range_expr* const range = s.a->get<range_expr>();
  const bool ranged = range != nullptr;
  if (ranged) {
    if (range->from) first = (co_await eval(t, a, *range->from)).n;
    last = (co_await eval(t, a, *range->to)).n;
  } else if (s.a->type->is(kind::array)) {
    last = static_cast<__int128>(s.a->type->count);
  } else {
    const val v = co_await eval(t, a, *s.a);
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
      if (s.a->type->is(kind::array)) {
        val* const at = co_await place(t, a, *s.a);
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

co<way> interpreter::exec_wait(thread_state& t, activation& a, const stmt& s) {
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

co<way> interpreter::exec_any(thread_state& t, activation& a, const stmt& s) {
  struct arm {
    const any_arm* source;
    std::int64_t due = INT64_MAX;
    std::shared_ptr<object> on;
    val sent;
  };
  std::vector<arm> arms;
  const any_arm* otherwise = nullptr;
  for (const any_arm& x : s.any_arms) {
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
