// SPDX-License-Identifier: MIT
// Rules L and S6: mutexes, shared mutexes and semaphores, their order, and waiters that leave.
#include "heddle/sync/mutex.hh"

#include <string>
#include <vector>

#include "heddle/core/callback.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"
#include "heddle/sync/semaphore.hh"
#include "heddle/sync/shared_mutex.hh"
#include "support/drivers.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

task<> reader(shared_mutex& m, std::string& log, char name) {
  auto held = co_await m.lock_shared();
  log += name;
  // Timers due at one time on two workers may fire in either order.
  co_await sleep_for(1ms + (name - 'a') * 10ms);
  log += static_cast<char>(name - 'a' + 'A');
}
task<> writer(shared_mutex& m, std::string& log, char name) {
  auto held = co_await m.lock();
  log += name;
  co_await sleep_for(1ms);
  log += static_cast<char>(name - 'a' + 'A');
}
task<> strictly_first_come(std::string& log) {
  shared_mutex m;
  scope s;
  s.spawn(reader(m, log, 'a'));
  s.spawn(reader(m, log, 'b'));
  s.spawn(writer(m, log, 'w'));
  s.spawn(reader(m, log, 'c'));
  s.spawn(reader(m, log, 'd'));
  co_await s.join();
  EXPECT_EQ(m.readers(), 0u);
}

task<> counts_alone(mutex& m, int& inside, int& most) {
  for (int i = 0; i < 10; ++i) {
    auto held = co_await m.lock();
    most = std::max(most, ++inside);
    co_await yield();
    --inside;
  }
}

}  // namespace

HEDDLE_TEST(mutex, "L1 one function at a time is inside") {
  virtual_runtime v;
  mutex m;
  int inside = 0, most = 0;
  for (int i = 0; i < 5; ++i) v.rt.spawn(counts_alone(m, inside, most));
  v.rt.run();
  EXPECT_EQ(most, 1);
  EXPECT_FALSE(m.locked());
}

HEDDLE_TEST(shared_mutex,
            "L1 a writer that waits holds back later readers, and neighbours enter together") {
  virtual_runtime v;
  std::string log;
  v.rt.run(strictly_first_come(log));
  EXPECT_EQ(log, "abABwWcdCD");
}

namespace {
task<> timed_writer_leaves(std::string& log) {
  shared_mutex m;
  scope s;
  s.spawn(reader(m, log, 'a'));
  co_await yield();
  s.spawn([](shared_mutex& lock, std::string& seen) -> task<> {
    const auto got = co_await as_expected(with_timeout(lock.lock(), 100us));
    seen += got ? '?' : 't';
    EXPECT_EQ(got.error(), std::errc::timed_out);
  }(m, log));
  co_await yield();
  s.spawn(reader(m, log, 'b'));  // stands behind the writer
  co_await s.join();
}
}  // namespace

DRIVER_TEST(shared_mutex, "L2 a waiter that times out leaves the line and lets the next one in") {
  runtime rt(make());
  std::string log;
  rt.run(timed_writer_leaves(log));
  // b enters as soon as the writer has gone, while a is still inside
  EXPECT_TRUE(log == "atbAB" || log == "abtAB") << log;
}

namespace {
task<> locks_by_event(virtual_runtime& v) {
  mutex m;
  mutex::hold first, second, third;
  twait { m.lock(mkevent(first)); }
  EXPECT_TRUE(first);
  rendezvous<int> r;
  m.lock(r.make_event(2, second));
  m.lock(r.make_event(3, third));
  EXPECT_EQ(m.waiting(), 2u);
  first.release();
  EXPECT_EQ(co_await r, 2);
  EXPECT_TRUE(second);
  r.clear();  // the third leaves the line
  EXPECT_EQ(m.waiting(), 0u);
  second.release();
  EXPECT_FALSE(m.locked());
  EXPECT_TRUE(v.reports.empty());
}
}  // namespace

HEDDLE_TEST(mutex, "L2 an event that ended takes its place out of the line") {
  virtual_runtime v;
  v.rt.run(locks_by_event(v));
}

HEDDLE_TEST(shared_mutex, "L2 a writer's event that ended lets the readers behind it in") {
  virtual_runtime v;
  shared_mutex m;
  shared_mutex::hold first, second, never_given;
  rendezvous<int> r, gone;
  m.lock_shared(r.make_event(1, first));
  m.lock(gone.make_event(2, never_given));
  m.lock_shared(r.make_event(3, second));
  EXPECT_FALSE(second);
  gone.clear();
  EXPECT_TRUE(second);
  EXPECT_EQ(m.readers(), 2u);
}

HEDDLE_TEST(mutex, "a hold that arrives after its waiter was emptied is given back") {
  virtual_runtime v;
  mutex m;
  {
    rendezvous<> r;
    mutex::hold taken;
    m.lock(r.make_event(taken));
    EXPECT_TRUE(m.locked());
  }
  EXPECT_FALSE(m.locked());
}

HEDDLE_TEST(shared_mutex, "S6 a release wakes every sharer through the queue, not inside itself") {
  virtual_runtime v;
  shared_mutex m;
  std::string log;
  auto held = m.try_lock();
  for (char c = 'a'; c < 'f'; ++c) v.rt.spawn(reader(m, log, c));
  v.rt.once();
  held.release();
  EXPECT_EQ(log, "");
  EXPECT_EQ(m.readers(), 5u);
  v.rt.run();
  EXPECT_EQ(log, "abcdeABCDE");
}

namespace {
task<> asks_for(semaphore& sem, std::uint32_t n, std::string& log, char name) {
  auto permits = co_await sem.acquire(n);
  log += name;
  co_await sleep_for(1ms);
}
}  // namespace

HEDDLE_TEST(semaphore, "who asks for many is not passed by those who ask for few") {
  virtual_runtime v;
  semaphore sem(3);
  std::string log;
  v.rt.spawn(asks_for(sem, 2, log, 'a'));
  v.rt.spawn(asks_for(sem, 3, log, 'b'));
  v.rt.spawn(asks_for(sem, 1, log, 'c'));
  v.rt.run();
  EXPECT_EQ(log, "abc");
  EXPECT_EQ(sem.free_units(), 3u);
  sem.add(2);
  EXPECT_EQ(sem.try_acquire(5).units(), 5u);
}

HEDDLE_TEST(semaphore, "asking for more than there is is an error that says so") {
  virtual_runtime v;
  semaphore sem(3);
  EXPECT_DEATH(static_cast<void>(sem.acquire(4)), "more units are asked for than there are");
}

HEDDLE_TEST(mutex, "in a cancelled context a free lock is not taken") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m;
    scope s;
    s.spawn([](mutex& lock) -> task<> {
      static_cast<void>(co_await as_expected(sleep_for(1h)));
      const auto got = co_await as_expected(lock.lock());
      EXPECT_FALSE(got);
    }(m));
    co_await yield();
    s.cancel();
    co_await s.join();
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(mutex, "a hold that was given is not lost to a timeout of the same turn") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    mutex m;
    cancel_source stop;
    scope s;
    auto held = co_await m.lock();
    s.spawn([](mutex& lock, cancel_source& source) -> task<> {
      const auto got = co_await as_expected(with_cancel(source, lock.lock()));
      EXPECT_TRUE(got);
    }(m, stop));
    co_await yield();
    held.release();
    stop.cancel();  // the lock was given before
    co_await s.join();
    EXPECT_FALSE(m.locked());
  }());
}

HEDDLE_TEST(mutex, "a dump shows who waits for a lock, and where") {
  virtual_runtime v;
  mutex m;
  auto held = m.try_lock();
  v.rt.spawn([](mutex& lock) -> task<> { auto mine = co_await lock.lock(); }(m));
  v.rt.once();
  const std::string text = v.rt.dump();
  EXPECT_NE(text.find("lock"), std::string::npos) << text;
  EXPECT_NE(text.find("mutex_test.cc:"), std::string::npos) << text;
  held.release();
  v.rt.run();
}

namespace {
task<> writes(shared_mutex& m) { const auto held = co_await m.lock(); }
task<> reads(shared_mutex& m) { const auto held = co_await m.lock_shared(); }
task<> takes(semaphore& s, std::uint32_t units) { const auto held = co_await s.acquire(units); }
}  // namespace

HEDDLE_TEST(mutex, "cancelling one that waits may let another in that is cancelled with it") {
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    shared_mutex m;
    semaphore s(2);
    {
      const auto reader = co_await m.lock_shared();
      const auto one = co_await s.acquire(1);
      for (int i = 0; i < 2; ++i) {
        const auto r = co_await as_expected(with_timeout(
            all(writes(m), reads(m), reads(m), takes(s, 2), takes(s, 1), takes(s, 1)), 1ms));
        EXPECT_EQ(r.error(), std::errc::timed_out);
      }
    }
    EXPECT_TRUE(m.try_lock());
    EXPECT_TRUE(s.try_acquire(2));
  }());
}

HEDDLE_TEST(mutex, "a hold that its event gives back at once lets in the next without recursion") {
  virtual_runtime v;
  constexpr int waiting = 200'000;
  int entered = 0;
  mutex m;
  {
    const auto held = m.try_lock();
    for (int i = 0; i < waiting; ++i)
      m.lock(function_event<mutex::hold>([&entered](mutex::hold) { ++entered; }));
  }
  v.rt.run();
  EXPECT_EQ(entered, waiting);
  EXPECT_TRUE(m.try_lock());
}
