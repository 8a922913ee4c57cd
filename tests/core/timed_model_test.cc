// SPDX-License-Identifier: MIT
// Random trees of waits (timed_tree.hh) against a sequential model (timed_model.hh): each node
// begins and ends when the model says, to the nanosecond, and with the same value or error; its
// variables are destroyed once; the diagnostics are those that the model counts; nothing leaks.
#include "core/timed_model.hh"
#include "heddle/core/hedged.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "support/seeds.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using heddle::test::virtual_driver;

namespace {

namespace timed {

using namespace heddle::test::timed;

struct own_failure {
  std::uint64_t node;
};

/// Time that stands still while code runs, so that times can be compared exactly.
struct exact_driver : virtual_driver {
  time_point now() noexcept override { return t; }
};

struct outside_event {
  rendezvous<> fired;
  std::uint64_t slot = 0;
  std::uint64_t slot_value = 0;  ///< what a trigger stores
  event<std::uint64_t> handle;
};

struct running {
  running(program& of, exact_driver& time) : p(of), clock(time), zero(time.t) {
    events.resize(static_cast<std::size_t>(of.events));
    for (auto& e : events) {
      e = std::make_unique<outside_event>();
      e->handle = e->fired.make_event(e->slot);
    }
    set_values(of.root);
    sources = std::make_unique<cancel_source[]>(static_cast<std::size_t>(of.sources));
  }
  [[nodiscard]] instant now() const { return (clock.t - zero).count(); }
  [[nodiscard]] time_point at(instant t) const { return zero + nanoseconds(t); }
  [[nodiscard]] outside_event& event_of(const node& n) {
    return *events[static_cast<std::size_t>(n.index)];
  }

  void set_values(const node& n) {
    if (n.k == kind::outside) event_of(n).slot_value = value_of(n);
    for (const node& child : n.children) set_values(child);
  }

  program& p;
  exact_driver& clock;
  time_point zero;
  std::vector<std::unique_ptr<outside_event>> events;
  std::unique_ptr<cancel_source[]> sources;
  std::uint64_t log = 0;  ///< a hash of what happened, in order
};

outcome outcome_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const own_failure& f) {
    return {ends::own, f.node};
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) return {ends::canceled, 0};
    if (e.code() == std::errc::timed_out) return {ends::timed_out, 0};
    if (e.code() == std::errc::broken_pipe) return {ends::broken_pipe, 0};
    return {ends::nothing, 1};
  } catch (...) {
    return {ends::nothing, 2};
  }
}
ends ends_of(std::error_code code) {
  return outcome_of(std::make_exception_ptr(std::system_error(code))).how;
}

/// A variable of each node's function: notes its beginning and its destruction.
struct presence {
  presence(running& of, node& n) : r(of), at(n) {
    ++at.entries;
    at.real.entered = true;
    at.real.start = r.now();
    note(1);
  }
  presence(const presence&) = delete;
  ~presence() {
    ++at.exits;
    at.real.end = r.now();
    note(2);
  }
  void note(std::uint64_t what) const {
    r.log = mix(r.log, mix(what, mix(static_cast<std::uint64_t>(at.number),
                                     static_cast<std::uint64_t>(r.now()))));
  }
  running& r;
  node& at;
};

task<std::uint64_t> begin(running& r, node& n);

task<std::uint64_t> run_node(running& r, node& n) {
  const presence here(r, n);
  std::uint64_t v = 0;
  try {
    task<std::uint64_t> body = begin(r, n);
    v = co_await std::move(body);
  } catch (...) {
    n.real.got = outcome_of(std::current_exception());
    throw;
  }
  n.real.got = {ends::value, v};
  co_return v;
}

task<std::uint64_t> wait_for_time(running& r, node& n) {
  if (n.k == kind::sleep_span) {
    co_await sleep_for(nanoseconds(n.a));
  } else {
    co_await sleep_until(r.at(n.a));
  }
  co_return value_of(n);
}
task<std::uint64_t> wait_for_alarm(node& n) {
  rendezvous<> alarm;
  timer(nanoseconds(n.a), alarm.make_event());
  co_await alarm;
  co_return value_of(n);
}
task<std::uint64_t> wait_for_two_alarms(node& n) {
  rendezvous<int> alarms;
  timer(nanoseconds(n.b), alarms.make_event(2));
  timer(nanoseconds(n.a), alarms.make_event(1));
  const int first = co_await alarms;
  const int second = co_await alarms;
  co_return mix(value_of(n), static_cast<std::uint64_t>(first + 10 * (first + second - 3)));
}
task<std::uint64_t> wait_in_block(node& n) {
  twait {
    timer(nanoseconds(n.a), mkevent());
    timer(nanoseconds(n.b), mkevent());
  }
  co_return value_of(n);
}
task<std::uint64_t> wait_for_event(outside_event& e) {
  co_await e.fired;
  co_return e.slot;
}
task<std::uint64_t> give_way(node& n) {
  co_await yield();
  co_return value_of(n);
}
task<std::uint64_t> give(node& n) { co_return value_of(n); }
task<std::uint64_t> fail(node& n) {
  if (n.variant == 0) throw std::system_error(std::make_error_code(std::errc::broken_pipe));
  throw own_failure{static_cast<std::uint64_t>(n.number)};
  co_return 0;
}

task<std::uint64_t> run_sequence(running& r, node& n) {
  std::uint64_t v = 0;
  for (node& child : n.children) {
    task<std::uint64_t> next = run_node(r, child);
    v = mix(v, co_await std::move(next));
  }
  co_return v;
}
std::vector<task<std::uint64_t>> tasks_of(running& r, node& n) {
  std::vector<task<std::uint64_t>> all;
  for (node& child : n.children) all.push_back(run_node(r, child));
  return all;
}

task<std::uint64_t> run_all(running& r, node& n) {
  std::uint64_t v = 0;
  if (n.variant == 2) {
    std::vector<task<std::uint64_t>> tasks = tasks_of(r, n);
    const std::vector<std::uint64_t> got = co_await all(std::move(tasks));
    for (const std::uint64_t x : got) v = mix(v, x);
    co_return v;
  }
  task<std::uint64_t> a = run_node(r, n.children[0]);
  task<std::uint64_t> b = run_node(r, n.children[1]);
  if (n.variant == 0) {
    const auto [x, y] = co_await all(std::move(a), std::move(b));
    co_return mix(mix(v, x), y);
  }
  task<std::uint64_t> c = run_node(r, n.children[2]);
  const auto [x, y, z] = co_await all(std::move(a), std::move(b), std::move(c));
  co_return mix(mix(mix(v, x), y), z);
}

void add_result(std::uint64_t& v, std::size_t i, const std::optional<std::uint64_t>& x) {
  if (x) v = mix(v, mix(i, *x));
}
task<std::uint64_t> run_any(running& r, node& n) {
  if (n.variant == 2) {
    std::vector<task<std::uint64_t>> tasks = tasks_of(r, n);
    const any_result_of<std::uint64_t> got = co_await any(std::move(tasks));
    std::uint64_t v = got.failure ? 1 : 0;
    for (std::size_t i = 0; i < got.results.size(); ++i) add_result(v, i, got.results[i]);
    co_return v;
  }
  if (n.children[0].direct) {
    node& first = n.children[0];
    task<std::uint64_t> b = run_node(r, n.children[1]);
    std::uint64_t v = 0;
    if (first.k == kind::outside) {
      outside_event& e = r.event_of(first);
      const auto got = co_await any(e.fired, std::move(b));
      v = got.failure ? 1 : 0;
      if (std::get<0>(got.results)) v = mix(v, mix(0, e.slot));
      add_result(v, 1, std::get<1>(got.results));
      co_return v;
    }
    const auto got = co_await any(sleep_for(nanoseconds(first.a)), std::move(b));
    v = got.failure ? 1 : 0;
    if (std::get<0>(got.results)) v = mix(v, mix(0, value_of(first)));
    add_result(v, 1, std::get<1>(got.results));
    co_return v;
  }
  task<std::uint64_t> a = run_node(r, n.children[0]);
  task<std::uint64_t> b = run_node(r, n.children[1]);
  if (n.variant != 1) {
    const auto got = co_await any(std::move(a), std::move(b));
    std::uint64_t v = got.failure ? 1 : 0;
    add_result(v, 0, std::get<0>(got.results));
    add_result(v, 1, std::get<1>(got.results));
    co_return v;
  }
  task<std::uint64_t> c = run_node(r, n.children[2]);
  const auto got = co_await any(std::move(a), std::move(b), std::move(c));
  std::uint64_t v = got.failure ? 1 : 0;
  add_result(v, 0, std::get<0>(got.results));
  add_result(v, 1, std::get<1>(got.results));
  add_result(v, 2, std::get<2>(got.results));
  co_return v;
}

task<std::uint64_t> handle(running& r, node& n, std::uint64_t got) {
  task<std::uint64_t> body = run_node(r, n);
  co_return mix(co_await std::move(body), got);
}
task<std::uint64_t> run_select(running& r, node& n) {
  const std::size_t count = n.children.size() / 2;
  const auto handler = [&](std::size_t i) {
    return [&r, &h = n.children[count + i]](std::uint64_t got) { return handle(r, h, got); };
  };
  auto a = on(run_node(r, n.children[0]), handler(0));
  auto b = on(run_node(r, n.children[1]), handler(1));
  if (count == 2) {
    const std::uint64_t v = co_await select(std::move(a), std::move(b));
    co_return v;
  }
  auto c = on(run_node(r, n.children[2]), handler(2));
  const std::uint64_t v = co_await select(std::move(a), std::move(b), std::move(c));
  co_return v;
}
task<std::uint64_t> run_select_ok(running& r, node& n) {
  if (n.variant == 2) {
    std::vector<task<std::uint64_t>> tasks = tasks_of(r, n);
    const std::uint64_t v = co_await select_ok(std::move(tasks));
    co_return v;
  }
  task<std::uint64_t> a = run_node(r, n.children[0]);
  task<std::uint64_t> b = run_node(r, n.children[1]);
  if (n.variant == 0) {
    const std::uint64_t v = co_await select_ok(std::move(a), std::move(b));
    co_return v;
  }
  task<std::uint64_t> c = run_node(r, n.children[2]);
  const std::uint64_t v = co_await select_ok(std::move(a), std::move(b), std::move(c));
  co_return v;
}

task<std::uint64_t> scope_body(scope& s, running& r, node& n) {
  std::uint64_t v = 0;
  std::size_t next = 0;
  for (const scope_step step : n.steps) {
    if (step == scope_step::spawn) {
      s.spawn(run_node(r, n.children[next++]));
    } else if (step == scope_step::await) {
      task<std::uint64_t> one = run_node(r, n.children[next++]);
      v = mix(v, co_await std::move(one));
    } else if (step == scope_step::cancel) {
      s.cancel();
    } else {
      co_await s.join();
    }
  }
  co_return v;
}
task<> void_scope_body(scope& s, running& r, node& n) {
  task<std::uint64_t> body = scope_body(s, r, n);
  co_await std::move(body);
}
task<std::uint64_t> run_scope(running& r, node& n) {
  if (n.variant == 1) {
    const std::uint64_t v = co_await with_scope(scope_body, std::ref(r), std::ref(n));
    co_return v;
  }
  co_await with_scope(void_scope_body, std::ref(r), std::ref(n));
  co_return value_of(n);
}

/// Awaits what `limit` makes of the child: of its function, or of the leaf itself.
template <class Limit>
task<std::uint64_t> run_limited(running& r, node& n, Limit limit) {
  node& child = n.children[0];
  if (child.direct && child.k == kind::outside) {
    outside_event& e = r.event_of(child);
    co_await limit(e.fired);
    co_return e.slot;
  }
  if (child.direct) {
    co_await limit(sleep_for(nanoseconds(child.a)));
    co_return value_of(child);
  }
  task<std::uint64_t> body = run_node(r, child);
  const std::uint64_t v = co_await limit(std::move(body));
  co_return v;
}
task<std::uint64_t> run_expected(running& r, node& n) {
  node& child = n.children[0];
  if (child.direct && child.k == kind::outside) {
    outside_event& e = r.event_of(child);
    const result<void> got = co_await as_expected(e.fired);
    co_return got ? e.slot : value_of(ends_of(got.error()));
  }
  if (child.direct) {
    const result<void> got = co_await as_expected(sleep_for(nanoseconds(child.a)));
    co_return got ? value_of(child) : value_of(ends_of(got.error()));
  }
  task<std::uint64_t> body = run_node(r, child);
  const result<std::uint64_t> got = co_await as_expected(std::move(body));
  co_return got ? *got : value_of(ends_of(got.error()));
}
task<std::uint64_t> run_caught(running& r, node& n) {
  std::exception_ptr error;
  std::uint64_t v = 0;
  try {
    task<std::uint64_t> body = run_node(r, n.children[0]);
    v = co_await std::move(body);
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return v;
  task<std::uint64_t> cleanup = run_node(r, n.children[1]);
  v = co_await std::move(cleanup);
  if (n.variant == 1) std::rethrow_exception(error);
  if (n.variant == 2) throw own_failure{static_cast<std::uint64_t>(n.number)};
  co_return mix(v, value_of(outcome_of(error).how));
}
task<std::uint64_t> run_started(running& r, node& n) {
  rendezvous<> ended;
  if (n.variant == 1) {
    result<std::uint64_t> got = 0;
    start(run_node(r, n.children[0]), ended.make_event(got));
    co_await ended;
    if (got) co_return *got;
    co_return got.error() == std::errc::state_not_recoverable ? 2 : value_of(ends_of(got.error()));
  }
  std::uint64_t got = 0;
  start(run_node(r, n.children[0]), ended.make_event(got));
  co_await ended;
  co_return got;
}
task<std::uint64_t> run_hedged(running& r, node& n) {
  const auto call = [&r, &n](std::size_t i) { return run_node(r, n.children[i]); };
  const std::uint64_t v = co_await hedged(n.children.size(), nanoseconds(n.a), call);
  co_return v;
}

task<std::uint64_t> begin(running& r, node& n) {
  switch (n.k) {
    case kind::sleep_span:
    case kind::sleep_time:
      return wait_for_time(r, n);
    case kind::alarm:
      return wait_for_alarm(n);
    case kind::two_alarms:
      return wait_for_two_alarms(n);
    case kind::block:
      return wait_in_block(n);
    case kind::outside:
      return wait_for_event(r.event_of(n));
    case kind::value:
      return give(n);
    case kind::give_way:
      return give_way(n);
    case kind::failure:
      return fail(n);
    case kind::sequence:
      return run_sequence(r, n);
    case kind::all_of:
      return run_all(r, n);
    case kind::any_of:
      return run_any(r, n);
    case kind::choose:
      return run_select(r, n);
    case kind::choose_ok:
      return run_select_ok(r, n);
    case kind::nursery:
      return run_scope(r, n);
    case kind::sheltered:
      return run_limited(
          r, n, [&n]<class A>(A&& a) { return shield(std::forward<A>(a), nanoseconds(n.a)); });
    case kind::limit:
      return run_limited(r, n, [&n]<class A>(A&& a) {
        return with_timeout(std::forward<A>(a), nanoseconds(n.a));
      });
    case kind::due:
      return run_limited(
          r, n, [&r, &n]<class A>(A&& a) { return with_deadline(std::forward<A>(a), r.at(n.a)); });
    case kind::stoppable:
      return run_limited(r, n, [&r, &n]<class A>(A&& a) {
        return with_cancel(r.sources[static_cast<std::size_t>(n.index)], std::forward<A>(a));
      });
    case kind::expected:
      return run_expected(r, n);
    case kind::caught:
      return run_caught(r, n);
    case kind::started:
      return run_started(r, n);
    case kind::hedge:
      return run_hedged(r, n);
    case kind::kinds_end:
      break;
  }
  return {};
}

task<> act_outside(running& r) {
  for (const action& a : r.p.actions) {
    co_await sleep_until(r.at(a.at));
    if (a.what == act::cancel_source) {
      r.sources[static_cast<std::size_t>(a.index)].cancel();
      continue;
    }
    outside_event& e = *r.events[static_cast<std::size_t>(a.index)];
    if (a.what == act::drop) {
      e.handle = {};
    } else if (a.what == act::unblock) {
      e.handle.unblock();
    } else {
      e.handle.trigger(e.slot_value);
      if (a.what == act::trigger_twice) e.handle.trigger(e.slot_value);
    }
  }
}

/// The last time at which anything can happen: longer than all waits one after the other.
constexpr instant horizon = 1'000'000'000'000'000;

task<> run_whole(running& r) {
  scope all_of_it;
  all_of_it.spawn(act_outside(r));
  all_of_it.spawn([&r]() -> task<> {
    try {
      task<std::uint64_t> root = run_node(r, r.p.root);
      co_await with_cancel(r.sources[0], std::move(root));
    } catch (...) {  // its record has it
    }
  });
  co_await all_of_it.join();
  co_await sleep_until(r.at(horizon));  // for tasks that start() began
}

struct counts {
  std::uint64_t ran = 0, undecided = 0, nodes = 0, ended[6] = {}, kinds_run[kinds] = {};
};

void count(const node& n, counts& c) {
  if (n.real.entered) {
    ++c.nodes;
    ++c.ended[static_cast<int>(n.real.got.how)];
    ++c.kinds_run[static_cast<int>(n.k)];
  }
  for (const node& child : n.children) count(child, c);
}
/// Whether every node did what the model says.
bool agrees(const node& n) {
  const bool same = n.direct || (n.real == n.model && n.entries == (n.model.entered ? 1 : 0) &&
                                 n.exits == n.entries);
  return same && std::all_of(n.children.begin(), n.children.end(), agrees);
}

std::string text_of(const reports& r) {
  return " abandoned " + std::to_string(r.abandoned) + ", double triggers " +
         std::to_string(r.double_triggers) + ", leftovers " + std::to_string(r.leftovers) +
         ", unhandled " + std::to_string(r.unhandled) + ", lost peers " +
         std::to_string(r.lost_peers);
}

/// Runs a program; gives the hash of what happened, in order.
std::uint64_t run_program(program& p, reports& told, std::string& wrong) {
  auto clock = std::make_unique<exact_driver>();
  exact_driver& time = *clock;
  runtime_options options;
  options.diagnostics.change("all=report");
  std::string others;
  options.report = [&](const diagnostic& d) {
    switch (d.kind) {
      case diagnostic_kind::abandoned_event:
        ++told.abandoned;
        break;
      case diagnostic_kind::double_trigger:
        ++told.double_triggers;
        break;
      case diagnostic_kind::leftover_events:
        ++told.leftovers;
        break;
      case diagnostic_kind::unhandled_exception:
        ++told.unhandled;
        break;
      case diagnostic_kind::lost_peer:
        ++told.lost_peers;
        break;
      case diagnostic_kind::slow_handler:  // the machine was busy
        break;
      default:
        others += to_string(d) + "\n";
    }
  };
  std::uint64_t log = 0;
  {
    runtime rt(std::move(clock), std::move(options));
    running r(p, time);
    try {
      rt.run(run_whole(r));
    } catch (const std::exception& e) {
      others += std::string("the program does not end: ") + e.what() + "\n";
    }
    if (rt.drain() != 0) others += "tasks are left\n";
    log = r.log;
  }
  wrong += others;
  return log;
}

void check(std::uint64_t seed, counts& c) {
  program p = drawing(seed).draw();
  const program fresh = p;
  model m(p);
  const bool decided = m.predict();
  reports told;
  std::string wrong;
  const std::uint64_t log = run_program(p, told, wrong);
  ++c.ran;
  count(p.root, c);
  if (decided && !agrees(p.root)) wrong += "a node differs from the model\n";
  if (decided && !(told == m.told()))
    wrong += "the diagnostics are" + text_of(told) + " and not" + text_of(m.told()) + "\n";
  if (!decided) ++c.undecided;
  if (seed % 20 == 0) {
    program again = fresh;
    reports ignored;
    if (run_program(again, ignored, wrong) != log) wrong += "a second run differs\n";
  }
  EXPECT_EQ(wrong, "") << text_of(p);
}

}  // namespace timed

}  // namespace

HEDDLE_TEST(timed_model, "W1 random trees of waits end when and how the model says") {
  timed::counts c;
  const auto outcome = test::for_seeds(1500, [&](std::uint64_t seed) { timed::check(seed, c); });
  if (!test::judges_totals(outcome, 1500)) return;
  // The generator reaches all kinds and all ends, and the model decides all programs but a tenth.
  EXPECT_LT(c.undecided * 10, c.ran);
  EXPECT_GT(c.nodes, 3 * c.ran);
  for (int i = 1; i < 6; ++i) EXPECT_GT(c.ended[i], c.ran / 50) << "end " << i;
  for (int i = 0; i < timed::kinds; ++i)
    EXPECT_GT(c.kinds_run[i], c.ran / 100) << timed::name_of(static_cast<timed::kind>(i));
}
