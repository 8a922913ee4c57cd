// SPDX-License-Identifier: MIT
// Every way into a runtime from outside, on every driver, in run() and in a foreign loop: whatever
// comes while the runtime's thread sleeps wakes it. The other thread acts only when that thread
// sleeps: /proc says so.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/file.hh"
#include "heddle/io/foreign_loop.hh"
#include "heddle/io/process.hh"
#include "heddle/io/signal.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/io/watched_descriptor.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr int wake_rounds = 20;

/// What a thread outside does for the runtime, each time that it is asked to.
class outside_thread {
 public:
  explicit outside_thread(runtime& of) : rt(of), sleeper_(::gettid()) {}
  ~outside_thread() { end(); }
  outside_thread(const outside_thread&) = delete;

  /// From now on act() is called, on another thread, once for each ask().
  void begin(std::function<void()> act) {
    thread_ = std::thread([this, act = std::move(act)] {
      for (int done = 0;; ++done) {
        asked_.wait(done);
        if (ends_.load()) return;
        until_it_sleeps();
        act();
      }
    });
  }
  void ask() {
    ++asked_;
    asked_.notify_one();
  }
  /// Returns when the runtime's thread sleeps; it is about to.
  void until_it_sleeps() const {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < end) {
      std::ifstream stat("/proc/self/task/" + std::to_string(sleeper_) + "/stat");
      std::string text;
      std::getline(stat, text);
      if (const auto name_end = text.rfind(')');
          name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0)
        return;
      std::this_thread::yield();
    }
  }
  void end() {
    if (!thread_.joinable()) return;
    ends_ = true;
    ask();
    thread_.join();
  }

  runtime& rt;
  std::unique_ptr<event<>> done;  ///< the thread triggers it

 private:
  pid_t sleeper_;
  std::atomic<int> asked_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// One round after the other; counts those that ended.
using wake_way = task<> (*)(outside_thread&, int& rounds);

/// The thread's answer triggers o.done.
task<> wait_each_round(outside_thread& o, int& rounds) {
  for (; rounds != wake_rounds; ++rounds) {
    rendezvous<> r;
    o.done = std::make_unique<event<>>(r.make_event());
    o.ask();
    co_await r;
  }
}

task<> by_post(outside_thread& o, int& rounds) {
  o.begin([&o] { o.rt.post([&o] { std::exchange(o.done, nullptr)->trigger(); }); });
  co_await wait_each_round(o, rounds);
}

task<> by_post_to_a_color(outside_thread& o, int& rounds) {
  o.begin([&o] {
    o.rt.post(color(7), [&o] { o.rt.post([&o] { std::exchange(o.done, nullptr)->trigger(); }); });
  });
  co_await wait_each_round(o, rounds);
}

task<> by_trigger(outside_thread& o, int& rounds) {
  o.begin([&o] { o.rt.trigger(std::move(*std::exchange(o.done, nullptr))); });
  co_await wait_each_round(o, rounds);
}

task<> by_the_pool(outside_thread& o, int& rounds) {
  for (; rounds != wake_rounds; ++rounds) co_await blocking([&o] { o.until_it_sleeps(); });
}

task<> by_a_file(outside_thread&, int& rounds) {
  for (; rounds != wake_rounds; ++rounds) {
    const std::string text = co_await read_file("/proc/self/stat");
    EXPECT_FALSE(text.empty());
  }
}

task<> by_a_timer(outside_thread&, int& rounds) {
  for (; rounds != wake_rounds; ++rounds) co_await sleep_for(300us);
}

task<> by_a_signal(outside_thread& o, int& rounds) {
  signal_set set{SIGUSR1};
  o.begin([] { ::kill(::getpid(), SIGUSR1); });
  for (; rounds != wake_rounds; ++rounds) {
    o.ask();
    EXPECT_EQ(co_await set.next(), SIGUSR1);
  }
}

task<> by_a_child(outside_thread&, int& rounds) {
  for (; rounds != wake_rounds; ++rounds) {
    process p = co_await spawn_process({"true"});
    const exit_status how = co_await p.wait();
    EXPECT_TRUE(how.success());
  }
}

/// Waits for a descriptor that another thread writes to.
task<> for_bytes(outside_thread& o, int& rounds, int reads, int writes) {
  const watched_descriptor theirs(reads);
  o.begin([writes] {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(writes, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  });
  for (; rounds != wake_rounds; ++rounds) {
    o.ask();
    EXPECT_NE(co_await theirs.ready(POLLIN) & POLLIN, 0U);
    std::uint64_t count = 0;
    EXPECT_EQ(::read(reads, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  o.end();
  ::close(reads);
  if (writes != reads) ::close(writes);
}

task<> by_an_eventfd(outside_thread& o, int& rounds) {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  co_await for_bytes(o, rounds, fd, fd);
}
task<> by_a_pipe(outside_thread& o, int& rounds) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  co_await for_bytes(o, rounds, ends[0], ends[1]);
}
task<> by_a_socket(outside_thread& o, int& rounds) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  co_await for_bytes(o, rounds, ends[0], ends[1]);
}

task<> by_a_connection(outside_thread&, int& rounds) {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  for (; rounds != wake_rounds; ++rounds) {
    auto [near, far] = co_await all(tcp_connect(door.local()), door.accept());
    co_await near.write("x");
    char byte[1];
    EXPECT_EQ(co_await far.read(byte), 1U);
  }
}

struct named_way {
  const char* name;
  wake_way waits;
};
constexpr named_way all_ways[] = {
    {"post()", &by_post},           {"post() to a color", &by_post_to_a_color},
    {"trigger()", &by_trigger},     {"the blocking pool", &by_the_pool},
    {"a file", &by_a_file},         {"a timer", &by_a_timer},
    {"a signal", &by_a_signal},     {"a child process", &by_a_child},
    {"an eventfd", &by_an_eventfd}, {"a pipe", &by_a_pipe},
    {"a socket", &by_a_socket},     {"a connection", &by_a_connection},
};

/// Keeps run() from giving up: the other thread will act.
task<> until_woken(wake_way waits, outside_thread& o, int& rounds) {
  const outside_work acts;
  co_await with_timeout(waits(o, rounds), 20s);
}

/// A bare loop of somebody else's. False when it slept for long although something had come.
bool sleeps_until_ended(foreign_loop& ours, const bool& ended, int& sleeps) {
  constexpr nanoseconds long_enough = 5s;
  while (!ended) {
    const nanoseconds may_sleep = ours.step();
    if (ended) break;
    const nanoseconds span = std::min(may_sleep, long_enough);
    const timespec most{span / 1s, static_cast<long>((span % 1s).count())};
    pollfd p{ours.descriptor(), POLLIN, 0};
    ++sleeps;
    if (::ppoll(&p, 1, &most, nullptr) == 0 && may_sleep > long_enough) return false;
  }
  return true;
}

/// With nothing to do the other loop may sleep: the descriptor does not stay readable.
bool comes_to_rest(foreign_loop& ours) {
  for (int tries = 0; tries != 100; ++tries) {
    const nanoseconds may_sleep = ours.step();
    pollfd p{ours.descriptor(), POLLIN, 0};
    if (may_sleep != nanoseconds::zero() && ::poll(&p, 1, 0) == 0) return true;
  }
  return false;
}

}  // namespace

DRIVER_TEST(wakes, "whatever comes from outside ends the sleep of run()") {
  if (!make.real()) GTEST_SKIP() << "a simulated world has no other threads";
  for (const named_way& way : all_ways)
    for (const unsigned workers : {1U, 2U}) {
      SCOPED_TRACE(std::string(way.name) + ", workers: " + std::to_string(workers));
      runtime_options options;
      options.workers = workers;
      options.drivers = [&](driver_place& place) { return make(place); };
      runtime rt(std::move(options));
      outside_thread outside(rt);
      int rounds = 0;
      try {
        rt.run(until_woken(way.waits, outside, rounds));
      } catch (const failure& f) {
        ADD_FAILURE() << "round " << rounds << ": " << f.what();
      }
    }
}

DRIVER_TEST(wakes, "whatever comes from outside ends the sleep of a foreign loop") {
  if (make.name() == "poll" || make.name() == "sim") GTEST_SKIP() << "has no descriptor";
  for (const named_way& way : all_ways) {
    SCOPED_TRACE(way.name);
    runtime rt(make(), one_worker());
    foreign_loop ours(rt);
    outside_thread outside(rt);
    int rounds = 0, sleeps = 0;
    bool ended = false;
    rt.spawn([&]() -> task<> {
      co_await way.waits(outside, rounds);
      ended = true;
    });
    EXPECT_TRUE(sleeps_until_ended(ours, ended, sleeps)) << "lost in round " << rounds;
    outside.end();
    EXPECT_LT(sleeps, wake_rounds * 20) << "it spins";
    EXPECT_TRUE(comes_to_rest(ours)) << "the descriptor stays readable";
  }
}

}  // namespace heddle::test
