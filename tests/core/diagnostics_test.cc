// SPDX-License-Identifier: MIT
// Rules S3, S4, T4, K3 and K4: what is reported and how it is switched, where functions wait, and
// what becomes of their variables.
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
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
  options.on_double_trigger = how;
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
  options.on_leftovers = how;
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
