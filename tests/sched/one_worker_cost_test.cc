// SPDX-License-Identifier: MIT
// With one worker nothing that makes, triggers, queues or runs executes an atomic read-modify-write
// or a fence. Seen, not believed: a child process runs the paths one instruction at a time, and its
// parent looks at each.
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>

#include "heddle/base/sanitizer.hh"
#include "heddle/core/detail/message.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/twait.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

#if defined(__x86_64__) && !HEDDLE_ASAN && !HEDDLE_TSAN && defined(__OPTIMIZE__)

namespace heddle::test {
namespace {

/// What the instruction at `code` is, as far as this test cares.
bool orders_memory(std::uint64_t code) noexcept {
  const auto byte = [code](int i) { return static_cast<unsigned>(code >> (8 * i)) & 0xff; };
  int at = 0;
  bool lock = false;
  for (;; ++at) {  // prefixes
    const unsigned b = byte(at);
    if (b == 0xf0) lock = true;
    const bool prefix = b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x66 || b == 0x2e ||
                        b == 0x3e || b == 0x64 || b == 0x65 || (b & 0xf0) == 0x40;
    if (!prefix || at == 5) break;
  }
  if (lock) return true;
  const unsigned op = byte(at), mod = byte(at + 1);
  if ((op == 0x86 || op == 0x87) && (mod & 0xc0) != 0xc0) return true;  // xchg with memory
  return op == 0x0f && mod == 0xae && byte(at + 2) >= 0xe8;             // lfence, mfence, sfence
}

struct counted {
  long instructions = 0;
  long ordering = 0;
};

/// Runs `body` in a child, one instruction at a time between its two stops.
counted step_through(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    body();
    ::_exit(0);
  }
  counted n;
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return n;
  constexpr long steps_max = 2'000'000;
  // From the first stop to the second; the way out of raise() is stepped too.
  while (n.instructions < steps_max) {
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGUSR2) break;
    user_regs_struct r{};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &r);
    const long code = ::ptrace(PTRACE_PEEKTEXT, child, r.rip, nullptr);
    ++n.instructions;
    n.ordering += orders_memory(static_cast<std::uint64_t>(code));
  }
  ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return n;
}

// Not raise(): the C library's blocks signals by a locked instruction.
void stop_with(int signal) noexcept { ::kill(::getpid(), signal); }

constexpr int rounds = 4;

task<> nothing() { co_return; }
task<> yields() {
  for (int i = 0; i != rounds; ++i) co_await yield();
}
void at_once(const event<>& e) { e.trigger(); }

task<> every_path() {
  for (int pass = 0; pass != 2; ++pass) {  // the first makes room
    if (pass == 1) stop_with(SIGUSR1);
    for (int i = 0; i != rounds; ++i) {
      int slot = 0;
      rendezvous<int> r;
      const event<int> e = r.make_event(i, slot);
      const event<int> copy = e;
      copy.trigger(i);
      static_cast<void>(co_await r);
      twait { at_once(mkevent()); }
      co_await nothing();
    }
    scope s;
    for (int i = 0; i != rounds; ++i) s.spawn(yields());
    co_await s.join();
    for (int i = 0; i != rounds; ++i) {
      post(color(i % 3), [] {});
      spawn(color(i % 3 + 1), yields());
    }
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  stop_with(SIGUSR2);
}

void run_every_path() {
  runtime_options options;
  options.workers = 1;
  runtime rt(std::make_unique<virtual_driver>(), options);
  rt.run(every_path());
}

HEDDLE_TEST(one_worker,
            "events, tasks, yields, timers and colors execute no atomic update and no fence") {
  const counted n = step_through(&run_every_path);
  EXPECT_GT(n.instructions, 4'000);
  EXPECT_EQ(n.ordering, 0);
}

HEDDLE_TEST(one_worker, "the counter sees an atomic update and a fence where there is one") {
  const counted n = step_through([] {
    static std::atomic<int> seen{0};
    stop_with(SIGUSR1);
    seen.fetch_add(1);
    seen.exchange(2);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stop_with(SIGUSR2);
  });
  EXPECT_EQ(n.ordering, 3);
}

}  // namespace
}  // namespace heddle::test

#endif
