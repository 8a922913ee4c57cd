// SPDX-License-Identifier: MIT
// One handler for each part, as the kernel calls it. It counts its running calls, so that a part
// can wait until there are none.
#include "heddle/base/detail/signal_handlers.hh"

#include <sched.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <new>

namespace heddle::detail {
namespace {

struct part_table {
  std::atomic<int> running{0};  // handlers that run now
  std::atomic<signal_function*> handler{nullptr};
  std::array<struct sigaction, signal_numbers + 1> before{};
};
constinit std::array<part_table, 2> parts;

part_table& table_of(signal_part of) noexcept { return parts[static_cast<std::size_t>(of)]; }
struct sigaction& before(signal_part of, int number) noexcept {
  return table_of(of).before[static_cast<std::size_t>(number)];
}

template <signal_part Part>
void on_signal(int number, siginfo_t* info, void* interrupted) {
  const int errno_before = errno;
  part_table& t = table_of(Part);
  t.running.fetch_add(1);
  const signal_fate fate =
      t.handler.load()({number, info->si_code == SI_TIMER, info->si_value.sival_ptr, interrupted});
  t.running.fetch_sub(1);
  if (fate == signal_fate::given_back) ::sigaction(number, &before(Part, number), nullptr);
  if (fate != signal_fate::taken) ::raise(number);
  errno = errno_before;
}

auto* function_of(signal_part of) noexcept {
  return of == signal_part::dumps ? &on_signal<signal_part::dumps>
                                  : &on_signal<signal_part::listeners>;
}

bool is_ours(signal_part of, const struct sigaction& a) noexcept {
  return (a.sa_flags & SA_SIGINFO) != 0 && a.sa_sigaction == function_of(of);
}

bool is_free(const struct sigaction& a) noexcept {
  return (a.sa_flags & SA_SIGINFO) == 0 && (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN);
}

int install(signal_part of, int number, signal_function* handler, bool only_if_free) noexcept {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) != 0) return -errno;
  if (is_ours(of, now) || (only_if_free && !is_free(now))) return 0;
  before(of, number) = now;
  table_of(of).handler.store(handler);
  struct sigaction ours{};
  ours.sa_sigaction = function_of(of);
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;  // fibers' stacks are small
  ::sigfillset(&ours.sa_mask);
  return ::sigaction(number, &ours, nullptr) == 0 ? 0 : -errno;
}

}  // namespace

signals_held_off::signals_held_off() noexcept {
  static_assert(sizeof(sigset_t) <= sizeof before_);
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, new (before_) sigset_t);
}

signals_held_off::~signals_held_off() {
  ::pthread_sigmask(SIG_SETMASK, std::launder(reinterpret_cast<sigset_t*>(before_)), nullptr);
}

int install_handler(signal_part of, int number, signal_function* handler) noexcept {
  return install(of, number, handler, false);
}

void install_handler_if_free(signal_part of, int number, signal_function* handler) noexcept {
  static_cast<void>(install(of, number, handler, true));
}

void restore_action(signal_part of, int number, bool pending) noexcept {
  struct sigaction now{};
  if (::sigaction(number, nullptr, &now) != 0 || !is_ours(of, now)) return;
  if (!pending) {
    struct sigaction drop{};
    drop.sa_handler = SIG_IGN;
    ::sigaction(number, &drop, nullptr);
  }
  ::sigaction(number, &before(of, number), nullptr);
}

void wait_for_handlers(signal_part of) noexcept {
  while (table_of(of).running.load() != 0) ::sched_yield();
}

}  // namespace heddle::detail
