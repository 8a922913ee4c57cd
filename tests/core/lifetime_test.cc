// SPDX-License-Identifier: MIT
// Rule K6: functions that end with an object, in each state in which they can be.
#include "heddle/core/lifetime.hh"

#include <memory>
#include <string>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/io/pipe.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/mutex.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

struct witness {
  explicit witness(std::string& log, char name) : log_(log), name_(name) {}
  witness(const witness&) = delete;
  ~witness() { log_ += name_; }
  std::string& log_;
  char name_;
};

struct session : tamed_class {
  explicit session(std::string& l) : log(l) {}
  std::string& log;

  tamed on_event(event<>& out) {
    const witness w(log, 'e');
    twait { out = mkevent(); }
    log += '!';
  }
  tamed on_sleep() {
    const witness w(log, 's');
    co_await sleep_for(1s);
    log += '!';
  }
  tamed nested() {
    const witness w(log, 'n');
    co_await with_timeout(with_timeout(inner(), 2s), 3s);
    log += '!';
  }
  tamed on_lock(mutex& m) {
    const witness w(log, 'l');
    const auto held = co_await m.lock();
    log += '!';
  }
  tamed on_pop(channel<int>& c) {
    const witness w(log, 'c');
    static_cast<void>(co_await c.pop());
    log += '!';
  }
  tamed ends_itself() {
    const witness w(log, 'd');
    co_await sleep_for(1ms);
    std::string& kept = log;
    delete this;
    kept += '1';
    co_await sleep_for(1ms);  // goes on, and may wait
    kept += '2';
  }
  task<> inner() {
    const witness w(log, 'i');
    co_await sleep_for(1s);
  }
};

}  // namespace

DRIVER_TEST(lifetime, "K6 destroying an object ends its blocked members, silently and at once") {
  std::vector<diagnostic> reports;
  runtime_options options;
  options.report = [&](const diagnostic& d) { reports.push_back(d); };
  runtime rt(make(), options);
  std::string log;
  mutex m;
  channel<int> c(1);
  event<> out;
  auto held = m.try_lock();
  auto s = std::make_unique<session>(log);
  s->on_event(out);
  s->on_sleep();
  s->nested();
  s->on_lock(m);
  s->on_pop(c);
  EXPECT_EQ(s->guarded_functions(), 5u);
  const session copy(*s);  // copies do not have them
  EXPECT_EQ(copy.guarded_functions(), 0u);
  s.reset();
  EXPECT_EQ(log, "clinse");
  EXPECT_FALSE(out);
  EXPECT_EQ(m.waiting(), 0u);
  EXPECT_TRUE(c.try_push(1));
  EXPECT_EQ(c.size(), 1u);
  rt.run();
  EXPECT_EQ(log, "clinse");
  EXPECT_TRUE(reports.empty());
}

HEDDLE_TEST(lifetime,
            "K6 a member whose wake is queued is ended, and gives back what it was given") {
  virtual_runtime v;
  std::string log;
  mutex m;
  channel<int> c(0);
  event<> out;
  auto held = m.try_lock();
  auto s = std::make_unique<session>(log);
  s->on_event(out);
  s->on_lock(m);
  s->on_pop(c);
  out.trigger();
  held.release();
  EXPECT_TRUE(c.try_push(7));
  EXPECT_TRUE(m.locked());  // given to the member, which has not run
  s.reset();
  EXPECT_EQ(log, "cle");
  EXPECT_FALSE(m.locked());
  EXPECT_EQ(c.try_pop(), 7);
  v.rt.run();
  EXPECT_EQ(log, "cle");
}

DRIVER_TEST(lifetime, "K6 a member that destroys its own object goes on") {
  runtime rt(make());
  std::string log;
  auto* s = new session(log);
  event<> out;
  s->on_event(out);
  s->ends_itself();
  rt.run();
  EXPECT_EQ(log, "e12d");
}

namespace {

struct reader : tamed_class {
  explicit reader(std::string& l) : log(l) {}
  std::string& log;
  tamed reads(pipe_reader& from) {
    const witness w(log, 'r');
    std::array<std::byte, 16> room;
    static_cast<void>(co_await from.read(room));
    log += '!';
  }
  tamed with_children() {
    const witness w(log, 'p');
    scope s;
    s.spawn(child(log));
    co_await s.join();
    log += '!';
  }
  static task<> child(std::string& l) {
    const witness w(l, 'k');
    co_await sleep_for(1h);
  }
};

task<> kernel_and_children(std::string& log) {
  pipe_pair ends = make_pipe();
  auto r = std::make_unique<reader>(log);
  r->reads(ends.reader);
  r->with_children();
  co_await sleep_for(1ms);
  r.reset();
  co_await sleep_for(20ms);  // the kernel lets go of the buffer first
  EXPECT_EQ(log.find('!'), std::string::npos) << log;
  EXPECT_EQ(log.size(), 3u) << log;
}

}  // namespace

DRIVER_TEST(lifetime, "K6 what waits in the kernel or for children ends once they have let go") {
  runtime rt(make());
  std::string log;
  rt.run(kernel_and_children(log));
}

namespace {

tamed guarded_by_two([[maybe_unused]] tamed_class& a, const tamed_class* b, std::string& log) {
  const witness w(log, 'g');
  const destroy_guard also(*b);
  co_await sleep_for(1s);
  log += '!';
}
task<> guarded_task(const tamed_class* object) {
  const destroy_guard alive(*object);
  co_await sleep_for(1h);
}
tamed guarded_awaits_guarded([[maybe_unused]] tamed_class& outer, const tamed_class* inner,
                             std::string& log) {
  const witness w(log, 'w');
  task<> one = guarded_task(inner);
  co_await std::move(one);
  log += '!';
}
task<> awaits_guarded(std::unique_ptr<session>& s, std::string& log) {
  try {
    co_await guarded_task(s.get());
  } catch (const failure& f) {
    log += f.code() == std::errc::operation_canceled ? 'x' : '?';
  }
  co_await sleep_for(1ms);
  log += 'y';
}

}  // namespace

HEDDLE_TEST(lifetime, "K6 a function may have several guards, and the first object ends it") {
  virtual_runtime v;
  for (const bool first : {true, false}) {
    std::string log;
    auto a = std::make_unique<session>(log), b = std::make_unique<session>(log);
    guarded_by_two(*a, b.get(), log);
    (first ? a : b).reset();
    EXPECT_EQ(log, "g");
    EXPECT_EQ((first ? b : a)->guarded_functions(), 0u);
  }
  std::string log;
  const session s(log);
  guarded_by_two(const_cast<session&>(s), &s, log);
  v.rt.run();  // ends by itself: the guards go
  EXPECT_EQ(log, "!g");
  EXPECT_EQ(s.guarded_functions(), 0u);
}

HEDDLE_TEST(lifetime, "a function whose awaited function ended so may end before it goes on") {
  std::string log, reported;
  {
    runtime_options options;
    options.report = [&](const diagnostic& d) { reported += to_string(d) + "\n"; };
    runtime rt(std::make_unique<heddle::test::virtual_driver>(), options);
    auto outer = std::make_unique<session>(log), inner = std::make_unique<session>(log);
    guarded_awaits_guarded(*outer, inner.get(), log);
    inner.reset();  // the awaited function ends, and the other one is queued
    EXPECT_EQ(outer->guarded_functions(), 1u);
    outer.reset();
    rt.run();
  }
  EXPECT_EQ(log, "w");
  EXPECT_EQ(reported, "");  // freed-twice, if the awaiting function destroyed the other one again
}

HEDDLE_TEST(lifetime, "K6 whoever awaits a function that ends so sees operation_canceled") {
  virtual_runtime v;
  std::string log;
  auto s = std::make_unique<session>(log);
  v.rt.spawn(awaits_guarded(s, log));
  v.rt.once();
  s.reset();
  EXPECT_EQ(log, "");
  v.rt.run();
  EXPECT_EQ(log, "xy");
}

HEDDLE_TEST(rendezvous, "R5 a function blocked inside adapters ends with its rendezvous too") {
  virtual_runtime v;
  std::string log;
  auto r = std::make_unique<rendezvous<>>();
  event<> e = r->make_event();
  [](rendezvous<>& on, std::string& seen) -> tamed {
    const witness w(seen, 'w');
    co_await with_timeout(with_timeout(on, 1s), 2s);
    seen += '!';
  }(*r, log);
  r.reset();
  EXPECT_EQ(log, "w");
}
