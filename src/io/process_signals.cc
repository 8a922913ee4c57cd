// SPDX-License-Identifier: MIT
// The handler's data is atomic and stays while a handler runs: removing a listener waits for
// running handlers. All else is changed under one lock, which handlers never take.
#include "io/process_signals.hh"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "heddle/base/detail/signal_handlers.hh"
#include "io/system_call.hh"

namespace heddle::detail {
namespace {

constexpr int first_real_time = 32;

[[nodiscard]] std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }

template <class F>
void each_of(std::uint64_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask) + 1);
}

struct listener {
  int fd;
  std::uint64_t mask;
  std::atomic<listener*> next;
};

struct signal_table {
  std::mutex lock;
  std::atomic<listener*> listeners{nullptr};
  std::atomic<std::uint64_t> heard{0};  // the union of the listeners' masks
  std::array<std::atomic<std::uint32_t>, signal_numbers + 1> came{};
};
constinit signal_table table;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

thread_local std::uint64_t unblocked_here = 0;

signal_fate note_signal(const signal_arrival& arrived) noexcept {
  const int number = arrived.number;
  // Without a listener, the last one was just removed: the restored action takes the signal.
  if ((table.heard.load() & bit(number)) == 0) return signal_fate::raised_again;
  if (number < first_real_time) {
    table.came[number].store(1);
  } else {
    table.came[number].fetch_add(1);
  }
  const std::uint64_t one = 1;
  for (const listener* l = table.listeners.load(); l != nullptr; l = l->next.load())
    if ((l->mask & bit(number)) != 0)
      static_cast<void>(system_call::write(l->fd, &one, sizeof one));
  return signal_fate::taken;
}

int install(int number) noexcept {
  return install_handler(signal_part::listeners, number, &note_signal);
}

/// Restores the signals' actions, waits for running handlers, and raises the noted signals again.
void give_back(std::uint64_t mask) noexcept {
  each_of(mask, [](int number) { restore_action(signal_part::listeners, number, true); });
  wait_for_handlers(signal_part::listeners);
  each_of(mask, [](int number) {
    for (std::uint32_t n = table.came[number].exchange(0); n != 0; --n) ::kill(::getpid(), number);
  });
}

void unblock_here(std::uint64_t mask) noexcept {
  sigset_t free, before;
  ::sigemptyset(&free);
  each_of(mask, [&](int number) { ::sigaddset(&free, number); });
  ::pthread_sigmask(SIG_UNBLOCK, &free, &before);
  each_of(mask, [&](int number) {
    if (::sigismember(&before, number) == 1) unblocked_here |= bit(number);
  });
}

}  // namespace

int listen_to_signals(std::uint64_t mask) noexcept {
  std::unique_ptr<listener> made(new (std::nothrow) listener{-1, mask, nullptr});
  if (made == nullptr) return -ENOMEM;
  const int fd = made->fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -errno;
  {
    const signals_held_off quiet;
    const std::lock_guard held(table.lock);
    const std::uint64_t heard = table.heard.load();
    std::uint64_t installed = 0;
    int error = 0;
    // The mask and the list come first: a handler that runs at once finds its listener.
    made->next.store(table.listeners.load());
    table.heard.store(heard | mask);
    table.listeners.store(made.get());
    each_of(mask & ~heard, [&](int number) {
      if (error == 0 && (error = install(number)) == 0) installed |= bit(number);
    });
    if (error != 0) {
      table.listeners.store(made->next.load());
      table.heard.store(heard);
      give_back(installed);
      ::close(fd);
      return error;
    }
    static_cast<void>(made.release());
  }
  unblock_here(mask);
  return fd;
}

int take_signal(std::uint64_t mask) noexcept {
  int found = 0;
  each_of(mask, [&](int number) {
    std::atomic<std::uint32_t>& came = table.came[number];
    std::uint32_t n = found != 0 ? 0 : came.load();
    while (n != 0 && !came.compare_exchange_weak(n, n - 1)) {
    }
    if (n != 0) found = number;
  });
  return found;
}

void stop_listening(int fd) noexcept {
  const signals_held_off quiet;
  const std::lock_guard held(table.lock);
  std::atomic<listener*>* at = &table.listeners;
  while (at->load() != nullptr && at->load()->fd != fd) at = &at->load()->next;
  const std::unique_ptr<listener> gone(at->load());
  if (gone == nullptr) return;
  at->store(gone->next.load());
  std::uint64_t heard = 0;
  for (const listener* l = table.listeners.load(); l != nullptr; l = l->next.load())
    heard |= l->mask;
  table.heard.store(heard);
  give_back(gone->mask & ~heard);
}

void block_again() noexcept {
  const std::uint64_t mask = unblocked_here & ~table.heard.load();
  if (mask == 0) return;
  sigset_t again;
  ::sigemptyset(&again);
  each_of(mask, [&](int number) { ::sigaddset(&again, number); });
  ::pthread_sigmask(SIG_BLOCK, &again, nullptr);
  unblocked_here &= ~mask;
}

}  // namespace heddle::detail
