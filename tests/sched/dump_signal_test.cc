// SPDX-License-Identifier: MIT
// A running program that is asked by SIGQUIT says where it waits, on the standard error stream, and
// goes on: with every driver, alone and with several workers, also while some of them run.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "heddle/core/enter.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/foreign_loop.hh"
#include "heddle/io/process.hh"
#include "heddle/io/signal.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// What the process writes to standard error meanwhile.
class captured_errors {
 public:
  captured_errors() : before_(::dup(2)), file_(::memfd_create("errors", MFD_CLOEXEC)) {
    ::dup2(file_, 2);
  }
  captured_errors(const captured_errors&) = delete;
  ~captured_errors() {
    ::dup2(before_, 2);
    ::close(before_);
    ::close(file_);
  }
  [[nodiscard]] std::string text() const {
    std::string all(1 << 16, '\0');
    const ssize_t len = ::pread(file_, all.data(), all.size(), 0);
    all.resize(len < 0 ? 0 : static_cast<std::size_t>(len));
    return all;
  }
  [[nodiscard]] bool has(std::string_view part) const { return text().find(part) != text().npos; }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    const std::string all = text();
    std::size_t n = 0;
    for (std::size_t at = 0; (at = all.find(part, at)) != all.npos; at += part.size()) ++n;
    return n;
  }

 private:
  int before_, file_;
};

constexpr std::string_view head = "heddle: process ";

/// Bounds a wait for what another thread does.
template <class Ready>
bool soon(Ready&& ready) {
  for (const auto end = std::chrono::steady_clock::now() + 20s;
       std::chrono::steady_clock::now() < end;)
    if (ready()) return true;
  return false;
}

std::atomic<int> long_waits{0};  // that have begun

task<> waits_long() {
  ++long_waits;
  static_cast<void>(co_await as_expected(sleep_for(1h)));
}

task<> waits_elsewhere() { static_cast<void>(co_await as_expected(sleep_for(1h))); }

task<> ask_and_wait(const captured_errors& out, std::string_view expected) {
  ::kill(::getpid(), SIGQUIT);
  for (int i = 0; i != 20'000 && !out.has(expected); ++i) co_await sleep_for(1ms);
}

DRIVER_TEST(dump_signal, "a program that is asked says where it waits, and goes on") {
  for (const unsigned workers : {1U, 4U}) {
    SCOPED_TRACE(workers);
    const captured_errors out;
    runtime_options options;
    options.workers = workers;
    options.drain_timeout = 1s;
    runtime rt(make(), options);
    for (int i = 0; i != 6; ++i) rt.spawn(color(i), waits_long());
    rt.run(ask_and_wait(out, "waits_long"));
    EXPECT_EQ(out.count(head), 1U) << out.text();
    EXPECT_TRUE(out.has("       6  ")) << out.text();
    EXPECT_TRUE(out.has("dump_signal_test.cc")) << out.text();
    rt.run([](const captured_errors& written) -> task<> {
      ::kill(::getpid(), SIGQUIT);
      for (int i = 0; i != 20'000 && written.count(head) != 2; ++i) co_await sleep_for(1ms);
    }(out));
    EXPECT_EQ(out.count(head), 2U) << out.text();
  }
}

/// Asks from outside, as an operator does: timers and tasks of ours may stand behind what runs.
void ask_and_wait_outside(const captured_errors& out, std::size_t dumps) {
  ::kill(::getpid(), SIGQUIT);
  EXPECT_TRUE(soon([&] {
    std::this_thread::sleep_for(1ms);
    return out.count(head) == dumps;
  })) << out.text();
}

DRIVER_TEST(dump_signal, "a worker that runs a long function is named, and others' tasks listed") {
  if (!make.real()) return;  // its workers are one thread
  const captured_errors out;
  runtime_options options;
  options.workers = 4;
  runtime rt(make(), options);
  std::atomic<bool> runs{false}, asked{false};
  long_waits = 0;
  for (int i = 0; i != 6; ++i) rt.spawn(color(20 + i), waits_long());
  rt.spawn(color(7), waits_long());
  const std::jthread outside([&] {
    EXPECT_TRUE(soon([&] { return runs.load(); }));
    ask_and_wait_outside(out, 1);
    asked = true;
  });
  rt.run([](std::atomic<bool>& busy, std::atomic<bool>& end) -> task<> {
    EXPECT_TRUE(co_await wait_until([] { return long_waits == 7; })) << long_waits;
    scope s;
    s.spawn(color(7), [](std::atomic<bool>& b, std::atomic<bool>& e) -> task<> {
      co_await yield();
      b = true;
      EXPECT_TRUE(soon([&] { return e.load(); }));
    }(busy, end));
    co_await s.join();
  }(runs, asked));
  EXPECT_TRUE(out.has("       6  ")) << out.text();
  EXPECT_TRUE(out.has("running")) << out.text();
  EXPECT_TRUE(out.has("not listed: other tasks of color 7")) << out.text();
}

DRIVER_TEST(dump_signal,
            "colors go on as before when a dump has looked at them beside a busy one") {
  if (!make.real()) return;
  const captured_errors out;
  runtime_options options;
  options.workers = 4;
  runtime rt(make(), options);
  std::atomic<int> turns{0};
  std::atomic<bool> runs{false}, over{false};
  rt.spawn(color(7), [](std::atomic<bool>& busy, std::atomic<bool>& end) -> task<> {
    co_await yield();
    busy = true;
    EXPECT_TRUE(soon([&] { return end.load(); }));
  }(runs, over));
  const std::jthread outside([&] {
    EXPECT_TRUE(soon([&] { return runs.load(); }));
    for (std::size_t asked = 1; asked != 4; ++asked) {
      ask_and_wait_outside(out, asked);
      const int before = turns;
      EXPECT_TRUE(soon([&] { return turns >= before + 100; }));
    }
    over = true;
  });
  rt.run([](std::atomic<int>& n, std::atomic<bool>& end) -> task<> {
    const auto wanders = [](std::atomic<int>& count, std::atomic<bool>& e, int at) -> task<> {
      while (!e) {
        ++count;
        co_await yield();
        co_await enter(color(20 + (at + count) % 32));
      }
    };
    scope s;
    for (int i = 0; i != 32; ++i) s.spawn(color(20 + i), wanders(n, end, i));
    co_await s.join();
  }(turns, over));
  EXPECT_EQ(out.count(head), 3U) << out.text();
  EXPECT_TRUE(out.has("running")) << out.text();
}

DRIVER_TEST(dump_signal, "when all workers run long functions it says so, and dumps afterwards") {
  if (!make.real()) return;
  for (const unsigned workers : {1U, 2U}) {
    SCOPED_TRACE(workers);
    const captured_errors out;
    runtime_options options;
    options.workers = workers;
    options.drain_timeout = 1s;
    runtime rt(make(), options);
    std::atomic<unsigned> running{0};
    rt.spawn(waits_long());
    rt.run([](unsigned n, std::atomic<unsigned>& busy, const captured_errors& written) -> task<> {
      scope s;
      for (unsigned i = 0; i != n; ++i)
        s.spawn(color(1 + i),
                [](unsigned of, std::atomic<unsigned>& b, const captured_errors& w) -> task<> {
                  co_await yield();
                  if (++b == of) ::kill(::getpid(), SIGQUIT);
                  EXPECT_TRUE(soon([&] { return w.has("the dump has to wait"); })) << w.text();
                }(n, busy, written));
      co_await s.join();
      for (int i = 0; i != 20'000 && !written.has("waits_long"); ++i) co_await sleep_for(1ms);
    }(workers, running, out));
    EXPECT_TRUE(out.has(workers == 1 ? "    0x" : "went on at")) << out.text();
    EXPECT_TRUE(out.has("waits_long")) << out.text();
  }
}

DRIVER_TEST(dump_signal, "a program that listens to the signal gets it, and no dump is written") {
  if (!make.real()) return;
  const captured_errors out;
  runtime rt(make());
  rt.run([](const captured_errors& written) -> task<> {
    {
      signal_set own{SIGQUIT};
      ::kill(::getpid(), SIGQUIT);
      const int came = co_await own.next();
      EXPECT_EQ(came, SIGQUIT);
      EXPECT_EQ(written.text(), "");
    }
    co_await ask_and_wait(written, head);
  }(out));
  EXPECT_EQ(out.count(head), 1U) << out.text();
}

DRIVER_TEST(dump_signal, "a runtime inside another loop writes it in a step") {
  if (make.name() != "io_uring" && make.name() != "epoll") return;
  const captured_errors out;
  runtime rt(make(), one_worker());
  foreign_loop ours(rt);
  rt.spawn(waits_long());
  static_cast<void>(ours.step());
  ::kill(::getpid(), SIGQUIT);
  pollfd watched{ours.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&watched, 1, 20'000), 1);
  static_cast<void>(ours.step());
  EXPECT_TRUE(out.has("waits_long")) << out.text();
}

sighandler_t action_now(int number) {
  struct sigaction now{};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler;
}

void own_handler(int) {}

HEDDLE_TEST(dump_signal,
            "an option names another signal or none, and a handler of the program stays") {
  const sighandler_t before = ::signal(SIGQUIT, SIG_DFL);
  {
    runtime_options options;
    options.dump_signal = 0;
    const runtime rt(options);
    EXPECT_EQ(action_now(SIGQUIT), SIG_DFL);
  }
  ::signal(SIGQUIT, &own_handler);
  {
    const runtime rt;
    EXPECT_EQ(action_now(SIGQUIT), &own_handler);
  }
  EXPECT_EQ(action_now(SIGQUIT), &own_handler);
  ::signal(SIGQUIT, SIG_IGN);
  {
    const runtime first;
    {
      const runtime second;
      EXPECT_NE(action_now(SIGQUIT), SIG_IGN);
    }
    EXPECT_NE(action_now(SIGQUIT), SIG_IGN);
  }
  ::signal(SIGQUIT, before);

  const captured_errors out;
  runtime_options options;
  options.dump_signal = SIGUSR2;
  runtime rt(options);
  rt.run([](const captured_errors& written) -> task<> {
    ::kill(::getpid(), SIGUSR2);
    for (int i = 0; i != 20'000 && !written.has(head); ++i) co_await sleep_for(1ms);
  }(out));
  EXPECT_EQ(out.count(head), 1U);
  options.dump_signal = SIGKILL;
  EXPECT_THROW(runtime{options}, failure);
}

HEDDLE_TEST(dump_signal,
            "the handler stays for later runtimes; without one the action before acts") {
  for (const bool simulated : {false, true}) {
    SCOPED_TRACE(simulated);
    const auto make = [simulated] {
      return make_driver(simulated ? "sim" : "epoll", driver_options{});
    };
    const sighandler_t before = ::signal(SIGQUIT, SIG_DFL);
    {
      const runtime first(make(), one_worker());
    }
    const sighandler_t ours = action_now(SIGQUIT);
    EXPECT_NE(ours, SIG_DFL);
    {
      const runtime next(make(), one_worker());
    }
    EXPECT_EQ(action_now(SIGQUIT), ours);

    ::signal(SIGQUIT, SIG_IGN);
    {
      const runtime changed(make(), one_worker());
    }
    EXPECT_EQ(action_now(SIGQUIT), ours);
    ::raise(SIGQUIT);  // ignored, as before
    EXPECT_EQ(action_now(SIGQUIT), SIG_IGN);

    const captured_errors out;
    runtime rt(make(), one_worker());
    EXPECT_EQ(action_now(SIGQUIT), ours);
    rt.spawn(waits_long());
    rt.run(ask_and_wait(out, "waits_long"));
    EXPECT_EQ(out.count(head), 1U) << out.text();
    ::signal(SIGQUIT, before);
  }
}

HEDDLE_TEST(dump_signal,
            "a runtime in a child of fork() answers there, and the parent's does not") {
  const captured_errors out;
  ::signal(SIGQUIT, SIG_DFL);
  runtime rt(make_driver("sim", driver_options{}), one_worker());
  rt.spawn(waits_elsewhere());
  const pid_t forked = ::fork();
  if (forked == 0) {
    runtime mine(make_driver("sim", driver_options{}), one_worker());
    mine.spawn(waits_long());
    mine.run(ask_and_wait(out, "waits_long"));
    ::_exit(out.has("waits_long") && !out.has("waits_elsewhere") ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(forked, &status, 0), forked);
  EXPECT_EQ(status, 0);
}

HEDDLE_TEST(dump_signal, "each runtime of a process writes its own") {
  const captured_errors out;
  std::atomic<bool> over{false};
  const auto serve = [&](task<> (*what)()) {
    runtime rt(one_worker());
    rt.spawn(what());
    rt.run([](std::atomic<bool>& end) -> task<> {
      while (!end) co_await sleep_for(1ms);
    }(over));
  };
  std::jthread one(serve, &waits_long), two(serve, &waits_elsewhere);
  EXPECT_TRUE(soon([&] {  // asked again: a thread may have begun late
    std::this_thread::sleep_for(20ms);
    ::kill(::getpid(), SIGQUIT);
    return out.has("waits_long") && out.has("waits_elsewhere");
  }));
  over = true;
}

HEDDLE_TEST(dump_signal, "a system call of the program is not cut short by it") {
  const captured_errors out;
  runtime rt(one_worker());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  rt.run([](int from, int to, const captured_errors& written) -> task<> {
    co_await yield();
    const std::jthread other([&] {
      ::kill(::getpid(), SIGQUIT);
      // The call below waits, and is interrupted twice.
      EXPECT_TRUE(soon([&] { return written.has("the dump has to wait"); }));
      EXPECT_EQ(::write(to, "x", 1), 1);
    });
    char byte = 0;
    EXPECT_EQ(::read(from, &byte, 1), 1);
  }(ends[0], ends[1], out));
  ::close(ends[0]);
  ::close(ends[1]);
}

HEDDLE_TEST(dump_signal, "a child that runs no runtime ends by the signal as ever") {
  ::signal(SIGQUIT, SIG_DFL);  // a shell ignores it in programs that it starts in the background
  runtime rt(one_worker());
  const pid_t forked = ::fork();
  if (forked == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::raise(SIGQUIT);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(forked, &status, 0), forked);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT) << status;
  rt.run([]() -> task<> {
    process child = co_await spawn_process({"sh", "-c", "ulimit -c 0; kill -QUIT $$; exit 0"});
    const exit_status ended = co_await child.wait();
    EXPECT_EQ(ended.signal, SIGQUIT);
  }());
}

}  // namespace
}  // namespace heddle::test
