// SPDX-License-Identifier: MIT
// A time limit around each wait of the lower rooms: a wait that nothing would ever end ends with
// the limit, and gives timed_out. The list is the rule: a new kind of wait gets a line here.
#include <poll.h>

#include <chrono>
#include <csignal>
#include <stop_token>
#include <string>
#include <utility>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/hedged.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/reusable_event.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/select.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/file.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/process.hh"
#include "heddle/io/signal.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"
#include "heddle/io/unix.hh"
#include "heddle/io/watched_descriptor.hh"
#include "heddle/sync/atomically.hh"
#include "heddle/sync/barrier.hh"
#include "heddle/sync/broadcast.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/condition.hh"
#include "heddle/sync/latch.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"
#include "heddle/sync/shared_channel.hh"
#include "heddle/sync/shared_mutex.hh"
#include "heddle/sync/tvar.hh"
#include "heddle/sync/windowed.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds limit = 3ms;

/// The check itself: the wait ends with the limit, and says so.
template <class A>
task<> ends_in_time(A&& wait) {
  const auto r = co_await as_expected(with_timeout(std::forward<A>(wait), limit));
  EXPECT_FALSE(r.has_value());
  if (!r) {
    EXPECT_EQ(r.error(), std::errc::timed_out);
  }
}

task<> forever() { co_await sleep_for(24h * 365); }

// core
task<> limits_sleep() { co_await ends_in_time(sleep_for(24h)); }
task<> limits_task() { co_await ends_in_time(forever()); }
task<> limits_rendezvous() {
  rendezvous<> r;
  const event<> kept = r.make_event();
  co_await ends_in_time(r);
  r.clear();
}
task<> limits_enter() {
  co_await ends_in_time([]() -> task<> {
    co_await enter(color(3));
    co_await forever();
  }());
}
task<> limits_join() {
  scope s;
  s.spawn(forever());
  s.spawn(color(4), forever());
  co_await ends_in_time(s.join());
  EXPECT_EQ(s.live(), 0U);
}
task<> limits_join_in_a_task() {
  scope s;
  s.spawn(forever());
  co_await ends_in_time([](scope& of) -> task<> { co_await of.join(); }(s));
  EXPECT_EQ(s.live(), 0U);
}
task<> limits_two_joins() {
  scope s;
  s.spawn(forever());
  scope joiners;
  joiners.spawn([](scope& of) -> task<> { co_await ends_in_time(of.join()); }(s));
  joiners.spawn([](scope& of) -> task<> { co_await of.settled(); }(s));
  co_await joiners.join();
  EXPECT_EQ(s.live(), 0U);
}
task<> limits_settled() {
  scope s;
  s.spawn(forever());
  co_await with_timeout(s.settled(), limit);  // throws nothing by contract; but it ends
  EXPECT_EQ(s.live(), 0U);
}
task<> limits_with_scope() {
  co_await ends_in_time(with_scope([](scope& s) -> task<> {
    s.spawn(forever());
    co_return;
  }));
}
task<> limits_all() { co_await ends_in_time(all(forever(), sleep_for(24h))); }
task<> limits_any() { co_await ends_in_time(any(forever(), sleep_for(24h))); }
task<> limits_hedged() {
  auto make = [](std::size_t) { return forever(); };
  co_await ends_in_time(hedged(2, 1ms, make));
}
task<> limits_select() {
  auto never_comes = [] { return 1; };
  co_await ends_in_time(select(on(sleep_for(24h), never_comes)));
}

// sync
task<> limits_mutex() {
  mutex m;
  const auto held = co_await m.lock();
  co_await ends_in_time(m.lock());
}
task<> limits_shared_mutex() {
  shared_mutex m;
  const auto held = co_await m.lock();
  co_await ends_in_time(m.lock());
  co_await ends_in_time(m.lock_shared());
}
task<> limits_semaphore() {
  semaphore s(1);
  const auto held = co_await s.acquire();
  co_await ends_in_time(s.acquire());
}
task<> limits_condition() {
  condition c;
  mutex m;
  co_await ends_in_time(c.wait());
  auto held = co_await m.lock();
  co_await ends_in_time(c.wait(held));
}
task<> limits_latch() {
  latch l(1);
  co_await ends_in_time(l.wait());
}
task<> limits_barrier() {
  barrier b(2);
  co_await ends_in_time(b.arrive());
}
task<> limits_channel() {
  channel<int> c(1);
  co_await ends_in_time(c.pop());
  co_await c.push(1);
  co_await ends_in_time(c.push(2));
}
task<> limits_shared_channel() {
  shared_channel<int> c(color(2), 1);
  co_await ends_in_time(c.pop());
  co_await c.push(1);
  co_await ends_in_time(c.push(2));
}
task<> limits_broadcast() {
  broadcast<int> b(4);
  broadcast<int>::subscription mine(b);
  co_await ends_in_time(mine.next());
}
task<> limits_transaction() {
  const tvar<int> v(0);
  auto until_set = [&v](transaction& tx) {
    if (tx.read(v) == 0) tx.retry();
  };
  co_await ends_in_time(atomically(until_set));
}
task<> limits_window() {
  co_await ends_in_time(each_windowed(3, 1, [](std::size_t) { return forever(); }));
}

// io
task<> limits_stream() {
  auto [a, b] = unix_pair();
  char text[4];
  co_await ends_in_time(a.read(text));
  co_await ends_in_time(a.read_some(text));
  co_await ends_in_time(a.receive());
  co_await ends_in_time(a.readable());
  line_reader lines(a);
  co_await ends_in_time(lines.line());
  const std::string much(std::size_t{64} << 20, 'x');  // more than any socket takes
  std::size_t taken = 0;  // with a counter, a write that ends early does not cut the stream
  co_await ends_in_time(b.write(much, taken));
  co_await ends_in_time(b.writable());
  co_await ends_in_time(b.write(std::string(much)));
  EXPECT_TRUE(b.is_cut());
}
task<> limits_accept() {
  tcp_listener on = tcp_listener::listen(address::loopback(0));
  co_await ends_in_time(on.accept());
}
task<> limits_datagram() {
  const udp_socket s = udp_socket::bind(address::loopback(0));
  char text[4];
  co_await ends_in_time(s.receive_from(text));
}
task<> limits_pipe() {
  const pipe_pair p = make_pipe();
  char text[4];
  co_await ends_in_time(p.reader.read(text));
  co_await ends_in_time(p.writer.write(std::string(std::size_t{8} << 20, 'x')));
}
task<> limits_signal() {
  signal_set s{SIGUSR2};
  co_await ends_in_time(s.next());
}
task<> limits_blocking() {
  // The call hears the request to stop; its value came, so that is the result.
  const auto stopped = co_await as_expected(with_timeout(blocking([](std::stop_token stop) {
                                                           while (!stop.stop_requested())
                                                             std::this_thread::yield();
                                                           return true;
                                                         }),
                                                         limit));
  EXPECT_TRUE(stopped.has_value() || stopped.error() == std::errc::timed_out);
}
task<> limits_process() {
  const process p = co_await spawn_process({"sleep", "1000"});
  co_await ends_in_time(p.wait());
  p.kill(SIGKILL);
  static_cast<void>(co_await p.wait());
}
task<> limits_watched() {
  auto [a, b] = unix_pair();
  const watched_descriptor w(a.number());
  co_await ends_in_time(w.ready(POLLIN));
}

enum class where { anywhere, real };
struct named_limit {
  const char* name;
  task<> (*body)();
  where runs = where::anywhere;
};
constexpr named_limit limited_waits[] = {
    {"sleep", &limits_sleep},
    {"task", &limits_task},
    {"rendezvous", &limits_rendezvous},
    {"enter", &limits_enter},
    {"join", &limits_join},
    {"join in a task", &limits_join_in_a_task},
    {"two joins", &limits_two_joins},
    {"settled", &limits_settled},
    {"with_scope", &limits_with_scope},
    {"all", &limits_all},
    {"any", &limits_any},
    {"hedged", &limits_hedged},
    {"select", &limits_select},
    {"mutex", &limits_mutex},
    {"shared_mutex", &limits_shared_mutex},
    {"semaphore", &limits_semaphore},
    {"condition", &limits_condition},
    {"latch", &limits_latch},
    {"barrier", &limits_barrier},
    {"channel", &limits_channel},
    {"shared_channel", &limits_shared_channel},
    {"broadcast", &limits_broadcast},
    {"transaction", &limits_transaction},
    {"window", &limits_window},
    {"stream", &limits_stream},
    {"accept", &limits_accept},
    {"datagram", &limits_datagram},
    {"pipe", &limits_pipe},
    {"signal", &limits_signal},
    {"blocking", &limits_blocking, where::real},
    {"process", &limits_process, where::real},
    {"watched descriptor", &limits_watched, where::real},
};

/// A second limit, far away, ends a wait that ignores the first one.
task<> run_limited(const named_limit& w, bool& ended) {
  const time_point began = clock::now();
  const auto all_of_it = co_await as_expected(with_timeout(w.body(), 30s));
  EXPECT_TRUE(all_of_it.has_value()) << all_of_it.error().message();
  EXPECT_LT(clock::now() - began, 20s) << "the limit did not end it";  // a busy machine needs less
  ended = true;
}

}  // namespace

DRIVER_TEST(limits, "a time limit ends every wait of the library") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    for (const named_limit& w : limited_waits) {
      if (w.runs == where::real && !make.real()) continue;
      SCOPED_TRACE(std::string(w.name) + ", workers " + std::to_string(workers));
      runtime_options options;
      options.workers = workers;
      runtime rt(make(), std::move(options));
      bool ended = false;
      rt.run(run_limited(w, ended));
      EXPECT_TRUE(ended);
    }
  }
}

}  // namespace heddle::test
