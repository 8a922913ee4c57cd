// SPDX-License-Identifier: MIT
// The handler reads only atomics, which live while a handler runs: a destructor that takes its
// object out of the list waits for all handlers (`handlers`). The list is changed under a lock,
// which handlers never take.
#include "sched/dump_signal.hh"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

#include "sched/inspection.hh"

namespace heddle {
namespace {

constexpr int numbers = 64;
/// As long as the dump itself waits for a worker (dump.cc), and some for writing it.
constexpr long late_ns = 300'000'000;

struct signal_table {
  std::mutex lock;
  std::atomic<dump_signal*> first{nullptr};
  std::atomic<int> handlers{0};  // handlers that are running
  std::array<struct sigaction, numbers + 1> before{};
};
constinit signal_table table;

/// While this lives, its thread runs no handler: the thread is about to wait until none runs.
class handlers_held_off {
 public:
  handlers_held_off() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  handlers_held_off(const handlers_held_off&) = delete;
  ~handlers_held_off() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

struct dump_signal_handler {
  static void run(int number, siginfo_t* info, void* interrupted) noexcept {
    const int errno_before = errno;
    table.handlers.fetch_add(1);
    const pid_t here = ::getpid();
    const bool late = info->si_code == SI_TIMER;
    bool ours = false;
    for (dump_signal* d = table.first.load(); d != nullptr; d = d->next_.load()) {
      if (d->number_ != number || d->process_ != here) continue;
      ours = true;
      if (late) {
        if (info->si_value.sival_ptr == d) d->asked_.write_late_notice(interrupted);
        continue;
      }
      d->asked_.ask_for_dump();
      if (d->has_timer_) set_timer(*d, late_ns);
    }
    table.handlers.fetch_sub(1);
    if (!ours && !late) {
      // This is a child of fork() without a runtime, or the last runtime has ended since.
      ::sigaction(number, &table.before[static_cast<std::size_t>(number)], nullptr);
      ::raise(number);
    }
    errno = errno_before;
  }
  static void set_timer(const dump_signal& d, long ns) noexcept {
    itimerspec when{};
    when.it_value.tv_nsec = ns;
    ::timer_settime(d.late_, 0, &when, nullptr);
  }
  [[nodiscard]] static bool is_ours(const struct sigaction& a) noexcept {
    return (a.sa_flags & SA_SIGINFO) != 0 && a.sa_sigaction == &run;
  }
  static void install(int number) noexcept {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) != 0 || is_ours(now)) return;
    if ((now.sa_flags & SA_SIGINFO) != 0 ||
        (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))
      return;  // the program's own handler
    struct sigaction ours{};
    ours.sa_sigaction = &run;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;  // fibers' stacks are small
    ::sigfillset(&ours.sa_mask);
    table.before[static_cast<std::size_t>(number)] = now;
    ::sigaction(number, &ours, nullptr);
  }
  static void give_back(int number) noexcept {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) != 0 || !is_ours(now)) return;
    struct sigaction drop{};
    drop.sa_handler = SIG_IGN;  // drops also a signal that the timer sent
    ::sigaction(number, &drop, nullptr);
    ::sigaction(number, &table.before[static_cast<std::size_t>(number)], nullptr);
  }
};

dump_signal::dump_signal(inspection& asked, int number)
    : asked_(asked), number_(number), process_(::getpid()) {
  if (number < 1 || number > numbers || number == SIGKILL || number == SIGSTOP)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "runtime_options::dump_signal is " + std::to_string(number) +
                      "; give a signal that can be handled, or 0 for none");
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  event.sigev_value.sival_ptr = this;
  has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &late_) == 0;
  const handlers_held_off quiet;
  const std::lock_guard held(table.lock);
  next_.store(table.first.load());
  table.first.store(this);
  dump_signal_handler::install(number);
}

dump_signal::~dump_signal() {
  const handlers_held_off quiet;
  const std::lock_guard held(table.lock);
  std::atomic<dump_signal*>* at = &table.first;
  while (at->load() != this) at = &at->load()->next_;
  at->store(next_.load());
  bool last = true;
  for (const dump_signal* d = table.first.load(); d != nullptr; d = d->next_.load())
    last = last && d->number_ != number_;
  if (has_timer_ && process_ == ::getpid()) ::timer_delete(late_);
  if (last) dump_signal_handler::give_back(number_);
  while (table.handlers.load() != 0) ::sched_yield();
}

void dump_signal::answered() noexcept {
  if (has_timer_) dump_signal_handler::set_timer(*this, 0);
}

}  // namespace heddle
