// SPDX-License-Identifier: MIT
// Interprets expressions and calls.
#include "draft/fold.hh"
#include "support/draft/interpreter.hh"

namespace heddle::draft {

co<val*> interpreter::place(thread_state& t, activation& a, const expr& e) {
  return std::visit([&](const auto& x) { return place(t, a, e, x); }, e.how);
}

co<val*> interpreter::place(thread_state&, activation& a, const expr&, const name_expr& x) {
  co_return slot(a, x.var).get();
}

co<val*> interpreter::place(thread_state& t, activation& a, const expr&, const member_expr& x) {
  val* const base = co_await place(t, a, *x.of);
  co_return &base->parts.at(x.field);
}

co<val*> interpreter::place(thread_state& t, activation& a, const expr& e, const index_expr& x) {
  co_await place(t, a, *x.of);
  const val i = co_await eval(t, a, *x.at);
  val* const base = co_await place(t, a, *x.of);
  if (i.n < 0 || i.n >= static_cast<__int128>(base->parts.size())) fail_fault(e.at);
  co_return &base->parts[static_cast<std::size_t>(i.n)];
}

co<val*> interpreter::place(
    thread_state&, activation&, const expr&,
    const one_of<bad_expr, integer_expr, duration_expr, text_expr, boolean_expr, none_expr,
                 list_expr, call_expr, unary_expr, binary_expr, range_expr, try_expr, move_expr,
                 spawn_expr, or_expr, action_expr> auto&) {
  throw unsupported{"a place"};
  co_return nullptr;
}

void interpreter::fail_fault(span at) {
  throw fault{"fault at " + at.file->path() + ":" + std::to_string(at.file->line_of(at.begin))};
}

__int128 interpreter::arithmetic(word op, const type& t, __int128 x, __int128 given, span at) {
  const auto r = fold_binary(op, t, x, given);
  if (!r) fail_fault(at);
  return *r;
}

val interpreter::zero_of(const type& t) {
  val v;
  if (t.is(kind::record))
    for (const record::part& p : t.record->parts) v.parts.push_back(zero_of(*p.type));
  if (t.is(kind::array)) v.parts.assign(t.count, zero_of(*t.of));
  return v;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e) {
  val v = co_await eval_plain(t, a, e);
  if (e.to != nullptr && e.to->is(kind::optional) && !e.type->is(kind::optional) &&
      !e.type->is(kind::none)) {
    val some;
    some.parts.push_back(std::move(v));
    co_return some;
  }
  co_return v;
}

namespace {

val number(__int128 n) {
  val v;
  v.n = n;
  return v;
}
val bytes(std::string s) {
  val v;
  v.s = std::move(s);
  return v;
}
co<val> known(val v) { co_return v; }

}  // namespace

// A lambda may be no coroutine that captures: it only chooses the coroutine of the kind.
co<val> interpreter::eval_plain(thread_state& t, activation& a, const expr& e) {
  step();
  if (e.is_constant || e.means == meaning::error_name) return known(number(e.number));
  if (e.means == meaning::constant) return known(bytes(bytes_of(e)));
  return std::visit([&](const auto& x) { return eval(t, a, e, x); }, e.how);
}

co<val> interpreter::eval(thread_state&, activation&, const expr&, const bad_expr&) {
  throw unsupported{"a bad expression"};
  co_return val{};
}

co<val> interpreter::eval(thread_state&, activation& a, const expr&, const action_expr& x) {
  val v;
  v.action = &x;
  v.action_in = &a;
  co_return v;
}

co<val> interpreter::eval(thread_state&, activation&, const expr&, const range_expr&) {
  throw unsupported{"a range"};
  co_return val{};
}

co<val> interpreter::eval(thread_state&, activation& a, const expr&, const name_expr& x) {
  if (x.moves) co_return std::exchange(*slot(a, x.var), val{});
  co_return *slot(a, x.var);
}

co<val> interpreter::eval(thread_state&, activation&, const expr& e, const integer_expr&) {
  co_return number(e.number);
}

co<val> interpreter::eval(thread_state&, activation&, const expr& e, const duration_expr&) {
  co_return number(e.number);
}

co<val> interpreter::eval(thread_state&, activation&, const expr& e, const boolean_expr&) {
  co_return number(e.number);
}

co<val> interpreter::eval(thread_state&, activation&, const expr& e, const text_expr&) {
  co_return bytes(bytes_of(e));
}

co<val> interpreter::eval(thread_state&, activation&, const expr&, const none_expr&) {
  co_return val{};
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e, const member_expr& x) {
  val v = co_await eval(t, a, *x.of);
  if (e.means == meaning::field) {
    val part = std::move(v.parts.at(x.field));
    co_return part;
  }
  co_return number(static_cast<__int128>(v.s.size()));
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e, const index_expr& x) {
  val v;
  const val base = co_await eval(t, a, *x.of);
  if (const range_expr* const range = x.at->get<range_expr>()) {
    __int128 from = 0, to = static_cast<__int128>(base.s.size());
    if (range->from) from = (co_await eval(t, a, *range->from)).n;
    if (range->to) to = (co_await eval(t, a, *range->to)).n;
    if (from < 0 || to < from || to > static_cast<__int128>(base.s.size())) fail_fault(e.at);
    v.s = base.s.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    co_return v;
  }
  const __int128 i = (co_await eval(t, a, *x.at)).n;
  if (x.of->type->is(kind::array)) {
    if (i < 0 || i >= static_cast<__int128>(base.parts.size())) fail_fault(e.at);
    co_return base.parts[static_cast<std::size_t>(i)];
  }
  if (i < 0 || i >= static_cast<__int128>(base.s.size())) fail_fault(e.at);
  v.n = static_cast<unsigned char>(base.s[static_cast<std::size_t>(i)]);
  co_return v;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e, const unary_expr& x) {
  const val of = co_await eval(t, a, *x.of);
  const auto r = fold_unary(x.op, *e.type, of.n);
  if (!r) fail_fault(e.at);
  co_return number(*r);
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr&, const list_expr& x) {
  val v;
  for (const argument& given : x.elements) {
    val element = co_await eval(t, a, *given.value);
    v.parts.push_back(std::move(element));
  }
  co_return v;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr&, const try_expr& x) {
  val v;
  std::optional<std::uint32_t> code;
  try {
    v = co_await eval(t, a, *x.of);
  } catch (const op_error& failed) {
    code = failed.code;
  }
  if (code) throw leaving{*code};
  co_return v;
}

co<val> interpreter::eval(thread_state&, activation& a, const expr&, const move_expr& x) {
  co_return std::exchange(*slot(a, x.of->local()), val{});
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr&, const or_expr& x) {
  val v;
  std::optional<std::uint32_t> code;
  bool missing = false;
  try {
    v = co_await eval(t, a, *x.of);
    if (x.of_optional) {
      missing = v.parts.empty();
      if (!missing) {
        val held = std::move(v.parts[0]);
        v = std::move(held);
      }
    }
  } catch (const op_error& failed) {
    code = failed.code;
  }
  if (!code && !missing) co_return v;
  if (x.error_var != nullptr) {
    bind(a, x.error_var, number(code.value_or(0)));
  }
  if (x.otherwise) co_return co_await eval(t, a, *x.otherwise);
  way w = way::on;
  if (x.jump) {
    w = co_await exec(t, a, *x.jump);
  } else {
    w = co_await exec(t, a, *x.handler);
  }
  if (w != way::on) throw jumping{w};
  co_return v;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e, const binary_expr& x) {
  val v;
  const val left = co_await eval(t, a, *x.left);
  if (x.op == word::s_andand || x.op == word::s_oror) {
    if ((left.n != 0) == (x.op == word::s_oror)) {
      v.n = left.n != 0;
      co_return v;
    }
    v.n = (co_await eval(t, a, *x.right)).n != 0;
    co_return v;
  }
  const val right = co_await eval(t, a, *x.right);
  const type& of = *(x.left->final_type());
  if (x.right->type->is(kind::none)) {
    v.n = left.parts.empty() == (x.op == word::s_eq);
    co_return v;
  }
  if (of.is(kind::view)) {
    v.n = (left.s == right.s) == (x.op == word::s_eq);
    co_return v;
  }
  const type& by =
      of.is(kind::duration) || e.type->is(kind::duration) ? *program_.types.basic(kind::i64) : of;
  v.n = arithmetic(x.op, by, left.n, right.n, e.at);
  co_return v;
}

co<std::vector<std::shared_ptr<val>>> interpreter::arguments(thread_state& t, activation& a,
                                                             const call_expr& e) {
  std::vector<std::shared_ptr<val>> args;
  const function& f = *e.callee;
  for (std::size_t i = 0; i != e.args.size(); ++i) {
    if (f.decl->params[i].how == passing::change) {
      // By reference; whole variables only are given so by generated programs.
      if (!e.args[i].value->is<name_expr>()) throw unsupported{"a part passed as var"};
      args.push_back(slot(a, e.args[i].value->local()));
      continue;
    }
    val v = co_await eval(t, a, *e.args[i].value);
    args.push_back(std::make_shared<val>(std::move(v)));
  }
  co_return args;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr&, const spawn_expr& x) {
  const call_expr& call = x.call->as<call_expr>();
  auto args = co_await arguments(t, a, call);
  auto job = std::make_shared<job_state>();
  auto thread = std::make_shared<thread_state>();
  if (!t.scopes.empty()) {
    thread->root->outer = t.scopes.back()->inside.get();
    keep_.push_back(t.scopes.back()->inside);
    t.scopes.back()->jobs.push_back(job);
  }
  val v;
  v.handle = std::make_shared<object>();
  v.handle->job = job;
  v.handle->job_bound = thread->root;
  start(thread, *call.callee, std::move(args), job);
  co_return v;
}

co<val> interpreter::eval(thread_state& t, activation& a, const expr& e, const call_expr& x) {
  val v;
  switch (e.means) {
    case meaning::function:
    case meaning::action: {
      std::vector<std::shared_ptr<val>> args;
      if (e.means == meaning::function) args = co_await arguments(t, a, x);
      std::optional<std::uint32_t> code;
      try {
        if (e.means == meaning::action)
          v = co_await call_action(t, *slot(a, x.action()));
        else
          v = co_await call(t, *x.callee, std::move(args));
      } catch (const leaving& failed) {
        code = failed.code;
      }
      if (code) throw op_error{*code};
      co_return v;
    }
    case meaning::record: {
      v = zero_of(*e.type);
      for (std::size_t i = 0; i != x.args.size(); ++i) {
        if (!x.args[i].value) continue;
        val part = co_await eval(t, a, *x.args[i].value);
        v.parts[i] = std::move(part);
      }
      co_return v;
    }
    case meaning::conversion: {
      v = co_await eval(t, a, *x.args[0].value);
      if (e.type->is(kind::text) && v.s.size() > e.type->count) throw op_error{error_code("full")};
      if (e.type->is_integer() && !fits(*e.type, v.n)) fail_fault(e.at);
      co_return v;
    }
    case meaning::unknown:
    case meaning::local:
    case meaning::constant:
    case meaning::construct:
    case meaning::operation:
    case meaning::field:
    case meaning::enumerator:
    case meaning::error_name:
    case meaning::namespace_:
      break;
  }
  const operation& op = *x.op;
  if (op.on == receiver::log) {
    std::string line;
    for (const argument& given : x.args) {
      const val part = co_await eval(t, a, *given.value);
      line += printed(part, *given.value->type);
    }
    out_ += line + "\n";
    co_return v;
  }
  if (op.on == receiver::buffer && op.name == "put") {
    std::string text;
    for (const argument& given : x.args) {
      const val part = co_await eval(t, a, *given.value);
      text += printed(part, *given.value->type);
    }
    val* const b = co_await place(t, a, *x.receiver());
    if (b->s.size() + text.size() > static_cast<std::size_t>(b->n))
      throw op_error{error_code("full")};
    b->s += text;
    co_return v;
  }
  if (op.id == operation_id::event_of_wait) co_return make_event(a.events.at(&e));
  std::vector<val> args;
  for (const argument& given : x.args) {
    val arg = co_await eval(t, a, *given.value);
    args.push_back(std::move(arg));
  }
  if (op.on == receiver::none) co_return construct(op, args);
  if (op.changes) {
    val* const b = co_await place(t, a, *x.receiver());
    change(op, *b, args, *x.receiver()->type, e.at);
    co_return v;
  }
  if (op.on == receiver::time) {
    if (op.name == "now") throw unsupported{"time.now"};
    if (const auto code = t.here->reason()) throw op_error{*code};
    if (op.name == "pause") {
      co_await yielding{*this};
      co_return v;
    }
    const std::int64_t due = later(static_cast<std::int64_t>(args[0].n));
    do {
      co_await parking{*this, t, due};
      if (const auto code = t.here->reason()) throw op_error{*code};
    } while (now_ < due);
    co_return v;
  }
  if (x.receiver() == nullptr) throw unsupported{std::string(op.name)};
  const val on = co_await eval(t, a, *x.receiver());
  if (op.on == receiver::view || (op.on == receiver::buffer && !op.waits))
    co_return look(op, on, args);
  if (on.handle == nullptr) throw unsupported{std::string(op.name)};
  if (op.on == receiver::rendezvous && !op.waits) {
    v = make_event(on.handle);
    if (!args.empty()) v.handle->id = args[0];
    co_return v;
  }
  if (!op.waits) {
    co_return at_once(op, *on.handle, args);
  }
  if (const auto code = t.here->reason()) throw op_error{*code};
  while (!try_operation(op, *on.handle, on.handle, args.empty() ? val{} : args[0], v)) {
    co_await parking{*this, t, INT64_MAX};
    if (const auto code = t.here->reason()) throw op_error{*code};
  }
  changed();
  co_return v;
}

}  // namespace heddle::draft
