// SPDX-License-Identifier: MIT
// The handler reads only atomics, which live while a handler runs: a destructor that takes its
// object out of the list waits for all handlers. The list is changed under a lock, which handlers
// never take.
#include "sched/dump_signal.hh"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <mutex>

#include "heddle/base/detail/signal_handlers.hh"
#include "sched/inspection.hh"

namespace heddle {
namespace {

/// The time that a dump waits for a worker (dump.cc), and some more to write it.
constexpr long late_ns = 300'000'000;

struct signal_table {
  std::mutex lock;
  std::atomic<dump_signal*> first{nullptr};
  std::uint64_t signals = 0;  // a bit for each signal that a runtime had
};
constinit signal_table table;

/// Puts the actions back when the process ends or the library is unloaded, because the handler goes
/// with it.
struct action_keeper {
  ~action_keeper() {
    for (std::uint64_t left = table.signals; left != 0; left &= left - 1)
      detail::restore_action(detail::signal_part::dumps, std::countr_zero(left) + 1, true);
  }
};
const action_keeper keeper;

// Timers by system calls of the kernel: a handler may make these, and not those of the C library.
int make_timer(int number, void* value) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  event.sigev_value.sival_ptr = value;
  int made = 0;
  return ::syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &made) == 0 ? made : -1;
}
void set_timer(int timer, long ns) noexcept {
  itimerspec when{};
  when.it_value.tv_nsec = ns;
  ::syscall(SYS_timer_settime, timer, 0, &when, nullptr);
}

}  // namespace

struct dump_signal_handler {
  static detail::signal_fate run(const detail::signal_arrival& came) noexcept {
    const pid_t here = ::getpid();
    bool ours = false;
    for (dump_signal* d = table.first.load(); d != nullptr; d = d->next_.load()) {
      if (d->number_ != came.number || d->process_ != here) continue;
      ours = true;
      if (came.by_timer) {
        if (came.timer_value == d) d->asked_.write_late_notice(came.interrupted);
        continue;
      }
      d->asked_.ask_for_dump();
      if (const int timer = timer_of(*d); timer >= 0) set_timer(timer, late_ns);
    }
    if (ours || came.by_timer) return detail::signal_fate::taken;
    // This is a child of fork() without a runtime, or the last runtime has ended since.
    return detail::signal_fate::given_back;
  }
  /// The timer, made by the first handler that asks; negative while another handler makes it.
  static int timer_of(dump_signal& d) noexcept {
    int timer = dump_signal::no_timer;
    if (!d.late_.compare_exchange_strong(timer, dump_signal::timer_begins)) return timer;
    timer = make_timer(d.number_, &d);
    d.late_.store(timer);
    return timer;
  }
};

dump_signal::dump_signal(inspection& asked, int number)
    : asked_(asked), number_(number), process_(::getpid()) {
  if (number < 1 || number > detail::signal_numbers || number == SIGKILL || number == SIGSTOP)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "runtime_options::dump_signal is " + std::to_string(number) +
                      "; give a signal that can be handled, or 0 for none");
  const std::lock_guard held(table.lock);
  next_.store(table.first.load());
  table.first.store(this);
  table.signals |= std::uint64_t{1} << (number - 1);
  install_handler_if_free(detail::signal_part::dumps, number, &dump_signal_handler::run);
}

dump_signal::~dump_signal() {
  {
    const std::lock_guard held(table.lock);
    std::atomic<dump_signal*>* at = &table.first;
    while (at->load() != this) at = &at->load()->next_;
    at->store(next_.load());
  }
  wait_for_handlers(detail::signal_part::dumps);  // later ones do not find it
  if (const int timer = late_.load(); timer >= 0 && process_ == ::getpid())
    ::syscall(SYS_timer_delete, timer);
}

void dump_signal::answered() noexcept {
  if (const int timer = late_.load(); timer >= 0) set_timer(timer, 0);
}

}  // namespace heddle
