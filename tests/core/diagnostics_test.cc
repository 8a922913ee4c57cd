// SPDX-License-Identifier: MIT
// Rules S3, S4, T4, K3 and K4: what is reported and how it is switched, where functions wait, and
// what becomes of their variables.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/hedged.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/windowed.hh"
#include "support/drivers.hh"
#include "support/reporting_runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::reporting_runtime;
using heddle::test::virtual_runtime;

namespace {

void trigger_twice(strictness how, std::vector<diagnostic>& reports, unsigned& line) {
  runtime_options options;
  options.diagnostics.set(diagnostic_kind::double_trigger, how);
  virtual_runtime v(options);
  rendezvous<> r;
  line = __LINE__ + 1;
  const event<> e = r.make_event();
  e.trigger();
  e.trigger();
  reports = v.reports;
}

void leave_two(strictness how, std::vector<diagnostic>& reports, unsigned& line) {
  runtime_options options;
  options.diagnostics.set(diagnostic_kind::leftover_events, how);
  virtual_runtime v(options);
  event<> a, b, c;
  {
    line = __LINE__ + 1;
    rendezvous<int> r;
    a = r.make_event(1);
    b = r.make_event(2);
    c = r.make_event(3);
    c.trigger();
  }
  reports = v.reports;
}

}  // namespace

HEDDLE_TEST(diagnostics,
            "S3 a double trigger is silent, reported with file and line, or ends all") {
  std::vector<diagnostic> reports;
  unsigned line = 0;
  trigger_twice(strictness::off, reports, line);
  EXPECT_TRUE(reports.empty());
  trigger_twice(strictness::report, reports, line);
  ASSERT_EQ(reports.size(), 1u);
  const source_line made = resolve_site(reports[0].made);
  EXPECT_EQ(made.line, line);
  const std::string text = to_string(reports[0]);
  EXPECT_NE(text.find("double-trigger"), std::string::npos) << text;
  EXPECT_NE(text.find("diagnostics_test.cc:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_DEATH(trigger_twice(strictness::abort, reports, line), "configured to end the program");
}

HEDDLE_TEST(diagnostics, "S4 events left at the end of a rendezvous are counted, with both lines") {
  std::vector<diagnostic> reports;
  unsigned line = 0;
  leave_two(strictness::off, reports, line);
  EXPECT_TRUE(reports.empty());
  leave_two(strictness::report, reports, line);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, diagnostic_kind::leftover_events);
  EXPECT_EQ(reports[0].count, 2u);
  EXPECT_EQ(resolve_site(reports[0].made).line, line + 1);  // the oldest event
  EXPECT_EQ(resolve_site(reports[0].waits).line, line);     // the rendezvous
  EXPECT_NE(to_string(reports[0]).find("(2)"), std::string::npos);
  EXPECT_DEATH(leave_two(strictness::abort, reports, line), "configured to end the program");
}

HEDDLE_TEST(diagnostics, "a double trigger is reported with the line of the second trigger") {
  runtime_options options;
  options.diagnostics.set(diagnostic_kind::double_trigger, strictness::report);
  virtual_runtime v(options);
  rendezvous<> r;
  int value = 0, first = 0, second = 0;
  const event<> none = r.make_event();
  const event<int> one = r.make_event(value);
  const event<int, int> two = r.make_event(first, second);
  std::vector<unsigned> lines;
  none.trigger();
  lines.push_back(__LINE__ + 1);
  none.trigger();
  one(1);
  lines.push_back(__LINE__ + 1);
  one(2);
  two.trigger(1, 2);
  lines.push_back(__LINE__ + 1);
  two.trigger(3, 4);
  ASSERT_EQ(v.reports.size(), lines.size());
  for (std::size_t i = 0; i != lines.size(); ++i)
    EXPECT_EQ(resolve_site(v.reports[i].waits).line, lines[i]);
  EXPECT_NE(to_string(v.reports[0]).find("triggered again at"), std::string::npos);
}

HEDDLE_TEST(diagnostics, "an event that is dropped where no function waits names no waiting line") {
  virtual_runtime v;
  const unsigned line = __LINE__ + 1;
  rendezvous<> r;
  static_cast<void>(r.make_event());
  ASSERT_EQ(v.reports.size(), 1u);
  EXPECT_EQ(resolve_site(v.reports[0].object_made).line, line);
  const std::string text = to_string(v.reports[0]);
  EXPECT_EQ(text.find("waits at"), std::string::npos) << text;
  EXPECT_NE(text.find("no function waits"), std::string::npos) << text;
}

namespace {

tamed leaves_by_break() {
  for (int i = 0; i != 1; ++i) {
    twait {
      const event<> e = mkevent();
      break;
    }
  }
  co_return;
}
unsigned drops_line = 0;
tamed drops_in_body(event<>& kept, bool& over) {
  drops_line = __LINE__ + 1;
  twait {
    kept = mkevent();
    const event<> dropped = mkevent();
    const event<> also = mkevent();
  }
  over = true;
}

}  // namespace

HEDDLE_TEST(diagnostics, "a twait body that is left early has abandoned no event") {
  virtual_runtime v;
  leaves_by_break();
  EXPECT_TRUE(v.reports.empty());
  event<> kept;
  bool over = false;
  drops_in_body(kept, over);  // this one goes on to wait
  ASSERT_EQ(v.reports.size(), 2u);
  for (const diagnostic& d : v.reports) {
    EXPECT_EQ(d.kind, diagnostic_kind::abandoned_event);
    EXPECT_EQ(resolve_site(d.waits).line, drops_line);
  }
  EXPECT_FALSE(over);
  kept.trigger();
  v.rt.run();
  EXPECT_TRUE(over);
}

namespace {
unsigned twait_line = 0, rendezvous_line = 0;
tamed in_twait(event<>& out) {
  twait_line = __LINE__ + 1;
  twait { out = mkevent(); }
}
tamed on_rendezvous(rendezvous<>& r) {
  rendezvous_line = __LINE__ + 1;
  co_await r;
}
}  // namespace

HEDDLE_TEST(dump, "T4 a blocked function is listed with the line of its wait") {
  virtual_runtime v;
  event<> a;
  rendezvous<> r;
  event<> b = r.make_event();
  in_twait(a);
  on_rendezvous(r);
  const std::string text = v.rt.dump();
  EXPECT_NE(text.find("2 tasks"), std::string::npos) << text;
  for (const unsigned line : {twait_line, rendezvous_line})
    EXPECT_NE(text.find("diagnostics_test.cc:" + std::to_string(line)), std::string::npos) << text;
  a.trigger();
  b.trigger();
  v.rt.run();
  EXPECT_EQ(v.rt.dump().find("diagnostics_test.cc"), std::string::npos);
}

namespace {

task<> sleeps_long() { co_await sleep_for(1h); }

unsigned any_line = 0, all_line = 0, vector_line = 0, start_line = 0, started_any_line = 0;
unsigned timeout_line = 0, hedged_line = 0, window_line = 0, windows_line = 0;

task<> in_any() {
  any_line = __LINE__ + 1;
  static_cast<void>(co_await as_expected(any(sleep_for(1h), sleep_for(2h))));
}
task<> in_all() {
  all_line = __LINE__ + 1;
  static_cast<void>(co_await as_expected(all(sleep_for(1h), sleep_for(2h))));
}
task<> in_all_of_vector() {
  std::vector<task<>> tasks;
  tasks.push_back(sleeps_long());
  vector_line = __LINE__ + 1;
  static_cast<void>(co_await as_expected(all(std::move(tasks))));
}
task<> in_start(rendezvous<>& r) {
  start_line = __LINE__ + 1;
  start(sleep_for(1h), r.make_event());
  started_any_line = __LINE__ + 1;
  start(all(sleep_for(1h), sleep_for(2h)), r.make_event());
  co_return;
}
task<> in_timeout() {
  timeout_line = __LINE__ + 1;
  static_cast<void>(co_await as_expected(with_timeout(any(sleep_for(1h), sleep_for(2h)), 3h)));
}
task<> in_hedged() {
  hedged_line = __LINE__ + 2;
  static_cast<void>(
      co_await as_expected(hedged(2, 1min, [](std::size_t) -> task<> { co_await sleep_for(1h); })));
}
task<> in_window() {
  const auto make = [](std::size_t) -> task<> {
    window_line = __LINE__ + 1;
    co_await sleep_for(1h);
  };
  windows_line = __LINE__ + 1;
  static_cast<void>(co_await as_expected(each_windowed(3, 2, make)));
}

}  // namespace

HEDDLE_TEST(dump, "what an adapter awaits stands under the line of the program that made it") {
  virtual_runtime v;
  rendezvous<> r;
  for (task<> (*const what)() :
       {&in_any, &in_all, &in_all_of_vector, &in_timeout, &in_hedged, &in_window})
    v.rt.spawn(what());
  v.rt.spawn(in_start(r));
  v.rt.once();
  const std::string text = v.rt.dump();
  EXPECT_EQ(text.find("heddle/core/"), std::string::npos) << text;
  EXPECT_EQ(text.find("heddle/sync/"), std::string::npos) << text;
  for (const unsigned line : {any_line, all_line, vector_line, start_line, started_any_line,
                              timeout_line, hedged_line, window_line, windows_line})
    EXPECT_NE(text.find("diagnostics_test.cc:" + std::to_string(line)), std::string::npos)
        << line << "\n"
        << text;
  r.clear();
  v.rt.drain();
}

namespace {

tamed fires_after(rendezvous<>& own, event<> other) {
  co_await own;
  other.trigger();
}

unsigned own_line = 0;
tamed holds_its_own() {
  own_line = __LINE__ + 1;
  twait {
    event<> kept = mkevent();
    co_await sleep_for(1s);
    kept.trigger();
  }
}
std::vector<event<int>>& moved_away() {
  static std::vector<event<int>> kept;
  return kept;
}
[[gnu::noinline]] void moves_away(event<int> e) { moved_away().push_back(std::move(e)); }
tamed moves_away_in_task(event<int> e) {
  moved_away().push_back(std::move(e));
  co_return;
}
task<> leaves_word_of_temporary() {
  int value = 0;
  twait { moves_away(mkevent(value)); }
}
task<> leaves_word_of_argument() {
  int value = 0;
  twait { moves_away_in_task(mkevent(value)); }
}
task<> leaves_word_of_variable() {
  int value = 0;
  twait {
    event<int> e = mkevent(value);
    moves_away(e);
  }
}
task<> leaves_word_of_copy() {
  int value = 0;
  twait {
    event<int> e = mkevent(value);
    moves_away_in_task(e);
  }
}
tamed waits_until(rendezvous<>& own, nanoseconds span) {
  static_cast<void>(co_await as_expected(with_timeout(
      [](rendezvous<>& r) -> task<> {
        event<> kept = r.make_event();
        co_await r;
      }(own),
      span)));
}
tamed sleeps_with(event<> e) {
  co_await sleep_for(1h);
  e.trigger();
}

std::size_t cycles_now(virtual_runtime& v) { return possible_cycles(v.rt.suspended()).size(); }

}  // namespace

HEDDLE_TEST(dump, "tasks that hold each other's events are a possible cycle, with all lines") {
  virtual_runtime v;
  rendezvous<> a, b, c;
  event<> first = a.make_event();
  const unsigned second_line = __LINE__ + 1;
  event<> second = b.make_event();
  event<> third = c.make_event();
  event<> again = first;
  fires_after(a, std::move(second));
  fires_after(b, std::move(third));
  fires_after(c, std::move(again));
  EXPECT_EQ(cycles_now(v), 0u) << "the test can still trigger the first";
  first = {};
  const auto cycles = possible_cycles(v.rt.suspended());
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0].size(), 3u);
  const std::string text = v.rt.dump();
  EXPECT_NE(text.find("3 tasks may wait for each other"), std::string::npos) << text;
  EXPECT_NE(text.find("diagnostics_test.cc:" + std::to_string(second_line)), std::string::npos)
      << text;
  EXPECT_NE(v.rt.dump_json().find("\"possible_cycles\":[["), std::string::npos);
  v.rt.drain();
}

HEDDLE_TEST(dump, "nothing is claimed of an event whose handle has left the frame that made it") {
  for (task<> (*const waits)() : {&leaves_word_of_temporary, &leaves_word_of_argument,
                                  &leaves_word_of_variable, &leaves_word_of_copy}) {
    virtual_runtime v;
    v.rt.spawn(waits());
    v.rt.once();
    const std::string text = v.rt.dump();
    EXPECT_EQ(text.find("other"), std::string::npos) << text;
    EXPECT_EQ(text.find("itself"), std::string::npos) << text;
    EXPECT_NE(text.find(" (1 handle)\n"), std::string::npos) << text;
    for (event<int>& e : moved_away()) e.trigger(7);
    moved_away().clear();
    v.rt.run();
  }
}

HEDDLE_TEST(dump, "a possible cycle is named as one, with the reason why it may be none") {
  virtual_runtime v;
  rendezvous<> a, b;
  event<> first = a.make_event();
  fires_after(a, b.make_event());
  fires_after(b, std::move(first));
  const std::string text = v.rt.dump();
  EXPECT_NE(text.find("may wait for each other (no proof: "), std::string::npos) << text;
  EXPECT_NE(text.find("a word that looks like its handle is in the frame at"), std::string::npos)
      << text;
  v.rt.drain();
}

HEDDLE_TEST(dump, "no cycle is seen where anything else could trigger") {
  virtual_runtime v;
  rendezvous<> a, b, c, d, e;
  fires_after(a, b.make_event());  // b's is held by one that waits for a, a's by one that sleeps
  fires_after(b, event<>());
  sleeps_with(a.make_event());
  fires_after(c, d.make_event());  // both hold each other's, and a timer holds one more
  fires_after(d, c.make_event());
  timer(1h, d.make_event());
  waits_until(e, 1h);  // holds its own, but not for ever
  holds_its_own();     // is in its sleep
  const std::vector<event<>> on_the_heap = {};
  EXPECT_EQ(cycles_now(v), 0u) << v.rt.dump();
  v.rt.drain();
}

HEDDLE_TEST(diagnostics, "a rendezvous may say that drops of its events are no mistake") {
  virtual_runtime v;
  rendezvous<int> r(drops::unreported);
  static_cast<void>(r.make_event(4));
  EXPECT_TRUE(v.reports.empty());
  int id = 0;
  EXPECT_TRUE(r.join(id));  // a dropped event fires all the same
  EXPECT_EQ(id, 4);
}

HEDDLE_TEST(diagnostics, "every diagnostic can be switched, by its name, while all runs") {
  virtual_runtime v;
  v.rt.diagnostics().change("abandoned-event=off");
  static_cast<void>(rendezvous<>().make_event());
  {
    rendezvous<> r;
    static_cast<void>(r.make_event());
    EXPECT_TRUE(v.reports.empty());
    v.rt.diagnostics().change("all=off,abandoned-event=report");
    static_cast<void>(r.make_event());
    ASSERT_EQ(v.reports.size(), 1u);
    EXPECT_EQ(v.reports[0].kind, diagnostic_kind::abandoned_event);
  }
  EXPECT_DEATH(
      {
        v.rt.diagnostics().change("abandoned-event=abort");
        rendezvous<> r;
        static_cast<void>(r.make_event());
      },
      "configured to end the program");
  for (const char* wrong : {"abandoned-event", "abandoned=off", "abandoned-event=loud", "=off"}) {
    EXPECT_THROW(v.rt.diagnostics().change(std::string("two-waiters=off,") + wrong),
                 std::invalid_argument)
        << wrong;
    EXPECT_EQ(v.rt.diagnostics()[diagnostic_kind::two_waiters], strictness::off);
  }
  v.rt.diagnostics().change("all=report");
  EXPECT_THROW(v.rt.diagnostics().change("two-waiters=off,nothing=off"), std::invalid_argument);
  EXPECT_EQ(v.rt.diagnostics()[diagnostic_kind::two_waiters], strictness::report)
      << "a text with an error changes nothing";
}

HEDDLE_TEST(diagnostics, "HEDDLE_DIAGNOSTICS switches them from outside, and names its mistakes") {
  ::setenv("HEDDLE_DIAGNOSTICS", "double-trigger=report,two-waiters=off", 1);
  {
    virtual_runtime v;
    EXPECT_EQ(v.rt.diagnostics()[diagnostic_kind::double_trigger], strictness::report);
    EXPECT_EQ(v.rt.diagnostics()[diagnostic_kind::two_waiters], strictness::off);
  }
  ::setenv("HEDDLE_DIAGNOSTICS", "double-triger=report", 1);
  EXPECT_THROW(virtual_runtime(), std::invalid_argument);
  ::unsetenv("HEDDLE_DIAGNOSTICS");
}

namespace {

int evaluated = 0;
int next_number() { return ++evaluated; }

tamed keeps_variables(int parameter, std::string& seen, event<int> done) {
  int first = next_number() + parameter;
  int row[3] = {first, first + 1, parameter};
  int grid[2][4] = {};
  std::string text(3, 'x');
  std::string& reference = seen;
  const std::size_t bytes = sizeof row + sizeof grid;
  twait { timer(1ms, mkevent()); }
  reference = text;
  grid[1][3] = row[1];
  twait { timer(1ms, mkevent()); }
  done(static_cast<int>(bytes) + grid[1][3] + row[2]);
}

}  // namespace

DRIVER_TEST(tamed, "K3 variables of every shape live across waits and are initialised once") {
  reporting_runtime v(make);
  evaluated = 0;
  std::string seen;
  int sum = 0;
  rendezvous<> r;
  keeps_variables(5, seen, r.make_event(sum));
  v.rt.run();
  EXPECT_EQ(sum, static_cast<int>(11 * sizeof(int)) + 7 + 5);
  EXPECT_EQ(seen, "xxx");
  EXPECT_EQ(evaluated, 1);
}

namespace {

struct counted {
  explicit counted(int& l, int& m) : live(l), made(m) { ++live, ++made; }
  counted(const counted&) = delete;
  ~counted() { --live; }
  int& live;
  int& made;
};
enum class how { returns, throws, is_canceled };

task<> one_way(how h, int& live, int& made) {
  const counted c(live, made);
  co_await yield();
  if (h == how::returns) co_return;
  if (h == how::throws) throw std::runtime_error("thrown");
  co_await sleep_for(1h);
}
task<> with_timeout_of(task<> t) { co_await with_timeout(std::move(t), 1ms); }
tamed on_foreign(rendezvous<>& r, int& live, int& made) {
  const counted c(live, made);
  co_await r;
}

}  // namespace

DRIVER_TEST(tamed, "K4 variables are made once and destroyed once, however the function ends") {
  reporting_runtime v(make);
  int live = 0, made = 0;
  v.rt.run(one_way(how::returns, live, made));
  EXPECT_THROW(v.rt.run(one_way(how::throws, live, made)), std::runtime_error);
  EXPECT_THROW(v.rt.run(with_timeout_of(one_way(how::is_canceled, live, made))), failure);
  {
    rendezvous<> r;
    on_foreign(r, live, made);
    EXPECT_EQ(live, 1);
  }
  EXPECT_EQ(live, 0);
  EXPECT_EQ(made, 4);
}

namespace {

/// Its author forgot co_return: no coroutine, and its result is an empty task.
task<> has_no_co() { return {}; }

}  // namespace

HEDDLE_TEST(diagnostics, "an empty task is named where it is awaited or spawned, with its causes") {
  const char* const says = "has no co_await and no co_return";
  EXPECT_DEATH(
      {
        virtual_runtime v;
        v.rt.run([]() -> task<> { co_await has_no_co(); }());
      },
      says);
  EXPECT_DEATH(
      {
        virtual_runtime v;
        v.rt.run([]() -> task<> {
          spawn(has_no_co());
          co_return;
        }());
      },
      says);
}
