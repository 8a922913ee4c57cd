// SPDX-License-Identifier: MIT
// The pool's threads.
#include "io/blocking_pool.hh"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace heddle {
namespace {

// Keeps a finished call's result, or a queued one's time of arrival, in a link that is unused then.
void keep_number(operation& op, std::int64_t number) noexcept {
  op.driver_prev = reinterpret_cast<operation*>(static_cast<std::intptr_t>(number));
}
std::int64_t kept_number(const operation& op) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(op.driver_prev));
}

std::uint64_t span(std::int64_t from, std::int64_t to) noexcept {
  return to > from ? static_cast<std::uint64_t>(to - from) : 0;
}

}  // namespace

std::int64_t blocking_pool::clock_ns() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

std::int64_t blocking_pool::result_of(const operation& op) noexcept { return kept_number(op); }

void blocking_pool::open_port(std::uint32_t worker, int wake_fd) {
  const std::lock_guard hold(lock_);
  while (ports_.size() <= worker) ports_.emplace_back();
  ports_[worker].wake_fd = wake_fd;
}

void blocking_pool::end() noexcept {
  {
    const std::lock_guard hold(lock_);
    ending_ = true;
    first_ = last_ = nullptr;
    count_.queued = 0;
    for (const auto& s : seats_) s->called.notify_one();
  }
  for (const auto& s : seats_)
    if (s->thread.joinable()) s->thread.join();
}

bool blocking_pool::add_thread(operation& first, std::int64_t since) noexcept {
  seat* free = nullptr;
  // Signals belong to the workers: the new thread inherits a full mask.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (const auto& s : seats_)
      if (!s->occupied) free = s.get();
    if (free == nullptr) free = seats_.emplace_back(std::make_unique<seat>()).get();
    if (free->thread.joinable()) free->thread.join();  // its thread has ended
    free->given = &first;
    free->given_since = since;
    free->occupied = true;
    free->thread = std::thread([this, free] { run(*free); });
    if (++count_.threads > count_.threads_peak) count_.threads_peak = count_.threads;
  } catch (...) {
    // The existing threads must be enough; if there are none, the call cannot be made.
    if (free != nullptr) free->occupied = false;
    free = nullptr;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return free != nullptr;
}

blocking_pool::taken blocking_pool::submit(operation& op) noexcept {
  const std::int64_t now = clock_ns();
  std::unique_lock hold(lock_);
  if (seat* const s = idle_; s != nullptr) {
    idle_ = s->next_idle;
    --count_.threads_idle;
    s->given = &op;
    s->given_since = now;
    hold.unlock();
    s->called.notify_one();
    return taken::running;
  }
  if (count_.threads < threads_max_ && add_thread(op, now)) return taken::running;
  if (count_.queued >= queue_max_ || count_.threads == 0) {
    ++count_.refused;
    return taken::no;
  }
  op.driver_next = nullptr;
  keep_number(op, now);
  (last_ != nullptr ? last_->driver_next : first_) = &op;
  last_ = &op;
  ++ports_[op.home].queued;
  if (++count_.queued > count_.queued_peak) count_.queued_peak = count_.queued;
  return taken::queued;
}

template <class Wanted>
operation* blocking_pool::take_first(Wanted wanted) noexcept {
  const std::lock_guard hold(lock_);
  operation* before = nullptr;
  for (operation* at = first_; at != nullptr; before = at, at = at->driver_next) {
    if (!wanted(*at)) continue;
    (before != nullptr ? before->driver_next : first_) = at->driver_next;
    if (last_ == at) last_ = before;
    --count_.queued;
    --ports_[at->home].queued;
    ++count_.taken_back;
    return at;
  }
  return nullptr;
}

bool blocking_pool::take_back(operation& op) noexcept {
  return take_first([&op](const operation& each) { return &each == &op; }) != nullptr;
}

operation* blocking_pool::take_back_one(std::uint32_t worker, int fd) noexcept {
  return take_first([=](const operation& each) {
    return each.home == worker && each.fd == fd && each.code != op_code::call &&
           each.code != op_code::resolve;
  });
}

operation* blocking_pool::collect(std::uint32_t worker) noexcept {
  port& p = ports_[worker];
  const std::lock_guard hold(lock_);
  p.finished_any.store(false, std::memory_order_relaxed);
  p.finished_end = &p.finished;
  return std::exchange(p.finished, nullptr);
}

blocking_pool::waiting_call blocking_pool::oldest(std::uint32_t worker) noexcept {
  const std::lock_guard hold(lock_);
  for (operation* at = first_; at != nullptr; at = at->driver_next)
    if (at->home == worker) return {at, kept_number(*at), ports_[worker].queued};
  return {};
}

std::size_t blocking_pool::longest_running(std::span<running_call> out) noexcept {
  const std::lock_guard hold(lock_);
  std::size_t len = 0;
  for (const auto& s : seats_) {
    if (s->now.op == nullptr) continue;
    const auto older = [&](const running_call& c) { return c.since_ns <= s->now.since_ns; };
    const auto begin = out.begin(), end = begin + static_cast<std::ptrdiff_t>(len);
    const auto at = std::find_if_not(begin, end, older);
    if (at == out.end()) continue;
    if (len == out.size()) --len;
    std::move_backward(at, begin + static_cast<std::ptrdiff_t>(len),
                       begin + static_cast<std::ptrdiff_t>(len) + 1);
    *at = s->now;
    ++len;
  }
  return len;
}

std::uint32_t blocking_pool::waiting(std::uint32_t worker) noexcept {
  const std::lock_guard hold(lock_);
  return ports_[worker].queued;
}

void blocking_pool::read(pool_statistics& out) noexcept {
  const std::lock_guard hold(lock_);
  out = count_;
}

void blocking_pool::leave_idle(seat& own) noexcept {
  seat** at = &idle_;
  while (*at != &own) at = &(*at)->next_idle;
  *at = own.next_idle;
  --count_.threads_idle;
}

operation* blocking_pool::next_call(seat& own, std::unique_lock<std::mutex>& hold) noexcept {
  if (ending_) return nullptr;
  if (own.given != nullptr) return std::exchange(own.given, nullptr);
  if (operation* const op = first_; op != nullptr) {
    first_ = op->driver_next;
    if (first_ == nullptr) last_ = nullptr;
    --count_.queued;
    --ports_[op->home].queued;
    own.given_since = kept_number(*op);
    return op;
  }
  own.next_idle = idle_;
  idle_ = &own;
  ++count_.threads_idle;
  const auto told = [&] { return ending_ || own.given != nullptr; };
  const bool called = own.called.wait_for(hold, idle_limit_, told);
  if (own.given != nullptr) return std::exchange(own.given, nullptr);
  if (!called || ending_) leave_idle(own);
  return nullptr;
}

void blocking_pool::run(seat& own) noexcept {
  std::unique_lock hold(lock_);
  while (operation* const op = next_call(own, hold)) {
    const std::int64_t begin = clock_ns();
    own.now = {op, op->home, begin};
    hold.unlock();
    const std::int64_t result = perform_blocking(*op);
    const std::int64_t end = clock_ns();
    hold.lock();
    own.now = {};
    count_.wait_ns.record(span(own.given_since, begin));
    count_.run_ns.record(span(begin, end));
    ++count_.finished;
    keep_number(*op, result);
    op->driver_next = nullptr;
    port& p = ports_[op->home];
    *p.finished_end = op;
    p.finished_end = &op->driver_next;
    // One wake is enough for all that finish before the worker looks.
    // release: pairs with has_finished()
    if (p.finished_any.exchange(true, std::memory_order_release)) continue;
    hold.unlock();  // so that the worker, once awake, finds it free
    const std::uint64_t one = 1;
    static_cast<void>(!::write(p.wake_fd, &one, sizeof one));
    hold.lock();
  }
  own.occupied = false;
  --count_.threads;
}

}  // namespace heddle
