// SPDX-License-Identifier: MIT
// The handler reads only atomics, which live while a handler runs: a destructor that takes its
// object out of the list waits for all handlers. The list is changed under a lock, which handlers
// never take.
#include "sched/dump_signal.hh"

#include <signal.h>
#include <unistd.h>

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
};
constinit signal_table table;

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
      if (d->has_timer_) set_timer(*d, late_ns);
    }
    if (ours || came.by_timer) return detail::signal_fate::taken;
    // This is a child of fork() without a runtime, or the last runtime has ended since.
    return detail::signal_fate::given_back;
  }
  static void set_timer(const dump_signal& d, long ns) noexcept {
    itimerspec when{};
    when.it_value.tv_nsec = ns;
    ::timer_settime(d.late_, 0, &when, nullptr);
  }
};

dump_signal::dump_signal(inspection& asked, int number)
    : asked_(asked), number_(number), process_(::getpid()) {
  if (number < 1 || number > detail::signal_numbers || number == SIGKILL || number == SIGSTOP)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "runtime_options::dump_signal is " + std::to_string(number) +
                      "; give a signal that can be handled, or 0 for none");
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  event.sigev_value.sival_ptr = this;
  has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &late_) == 0;
  const detail::signals_held_off quiet;
  const std::lock_guard held(table.lock);
  next_.store(table.first.load());
  table.first.store(this);
  install_handler_if_free(detail::signal_part::dumps, number, &dump_signal_handler::run);
}

dump_signal::~dump_signal() {
  const detail::signals_held_off quiet;
  const std::lock_guard held(table.lock);
  std::atomic<dump_signal*>* at = &table.first;
  while (at->load() != this) at = &at->load()->next_;
  at->store(next_.load());
  bool last = true;
  for (const dump_signal* d = table.first.load(); d != nullptr; d = d->next_.load())
    last = last && d->number_ != number_;
  if (has_timer_ && process_ == ::getpid()) ::timer_delete(late_);
  // Not pending: a signal that the timer sent is dropped.
  if (last) restore_action(detail::signal_part::dumps, number_, false);
  wait_for_handlers(detail::signal_part::dumps);
}

void dump_signal::answered() noexcept {
  if (has_timer_) dump_signal_handler::set_timer(*this, 0);
}

}  // namespace heddle
