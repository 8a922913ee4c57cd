// SPDX-License-Identifier: MIT
// The pool's threads.
#include "io/blocking_pool.hh"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "heddle/base/detail/signal_handlers.hh"
#include "heddle/io/detail/resolve_request.hh"

namespace heddle {
namespace {

std::uint64_t span(std::int64_t from, std::int64_t to) noexcept {
  return to > from ? static_cast<std::uint64_t>(to - from) : 0;
}

}  // namespace

std::int64_t blocking_pool::clock_ns() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void blocking_pool::open_port(std::uint32_t worker, int wake_fd) {
  const std::lock_guard hold(lock_);
  while (ports_.size() <= worker) ports_.emplace_back();
  ports_[worker].wake_fd = wake_fd;
}

void blocking_pool::end() noexcept {
  {
    const std::lock_guard hold(lock_);
    if (std::exchange(ending_, true)) return;
    for (crew& each : crews_) each.first = each.last = nullptr;
    count_.queued = 0;
    for (const auto& s : seats_) {
      if (s->asks && !weak_from_this().expired()) {  // the call's thread keeps the pool
        s->now.op = nullptr;
        s->thread.detach();
      }
      s->called.notify_one();
    }
  }
  for (const auto& s : seats_)
    if (s->thread.joinable()) s->thread.join();
}

bool blocking_pool::add_thread(crew& to, operation& first, std::int64_t since) noexcept {
  seat* free = nullptr;
  // Signals belong to the workers: the new thread inherits a full mask.
  const detail::signals_held_off quiet;
  try {
    for (const auto& s : seats_)
      if (!s->occupied) free = s.get();
    if (free == nullptr) free = seats_.emplace_back(std::make_unique<seat>()).get();
    if (free->thread.joinable()) free->thread.join();  // the seat's last thread has ended
    free->given = &first;
    free->given_since = since;
    free->of = &to;
    free->occupied = true;
    free->thread = std::thread([this, free, kept = weak_from_this().lock()] { run(*free); });
    ++to.threads;
    if (++count_.threads > count_.threads_peak) count_.threads_peak = count_.threads;
  } catch (...) {
    // The existing threads must be enough; if there are none, the call cannot be made.
    if (free != nullptr) free->occupied = false;
    free = nullptr;
  }
  return free != nullptr;
}

blocking_pool::taken blocking_pool::submit(operation& op) noexcept {
  const std::int64_t now = clock_ns();
  std::unique_lock hold(lock_);
  crew& to = crew_of(op);
  if (seat* const s = to.idle; s != nullptr) {
    to.idle = s->next_idle;
    --count_.threads_idle;
    s->given = &op;
    s->given_since = now;
    hold.unlock();
    s->called.notify_one();
    return taken::running;
  }
  if (to.threads < to.threads_max && add_thread(to, op, now)) return taken::running;
  if (count_.queued >= queue_max_ || to.threads == 0) {
    ++count_.refused;
    return taken::no;
  }
  op.driver_next = nullptr;
  op.queued_ns = now;
  (to.last != nullptr ? to.last->driver_next : to.first) = &op;
  to.last = &op;
  ++ports_[op.home].queued;
  if (++count_.queued > count_.queued_peak) count_.queued_peak = count_.queued;
  return taken::queued;
}

template <class Wanted>
operation* blocking_pool::take_first(Wanted wanted) noexcept {
  const std::lock_guard hold(lock_);
  for (crew& from : crews_) {
    operation* before = nullptr;
    for (operation* at = from.first; at != nullptr; before = at, at = at->driver_next) {
      if (!wanted(*at)) continue;
      (before != nullptr ? before->driver_next : from.first) = at->driver_next;
      if (from.last == at) from.last = before;
      --count_.queued;
      --ports_[at->home].queued;
      ++count_.taken_back;
      return at;
    }
  }
  return nullptr;
}

bool blocking_pool::take_back(operation& op) noexcept {
  if (take_first([&op](const operation& each) { return &each == &op; }) != nullptr) return true;
  return op.code == op_code::resolve && let_go(op);
}

bool blocking_pool::let_go(const operation& op) noexcept {
  const std::lock_guard hold(lock_);
  for (const auto& s : seats_) {
    if (s->given == &op && !s->drops_given) {
      s->drops_given = true;
      ++count_.taken_back;
      return true;
    }
    if (s->asks && s->now.op == &op) {
      s->now.op = nullptr;
      ++count_.left_alone;
      return true;
    }
  }
  return false;
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
  waiting_call found;
  for (const crew& each : crews_) {
    operation* at = each.first;
    while (at != nullptr && at->home != worker) at = at->driver_next;
    if (at != nullptr && (found.op == nullptr || at->queued_ns < found.since_ns))
      found = {at, at->queued_ns, ports_[worker].queued};
  }
  return found;
}

std::size_t blocking_pool::longest_running(std::span<running_call> out, bool look_ups) noexcept {
  const std::lock_guard hold(lock_);
  std::size_t len = 0;
  for (const auto& s : seats_) {
    // A look-up that was taken back still holds its thread.
    if (s->asks != look_ups || (s->now.op == nullptr && !look_ups)) continue;
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
  seat** at = &own.of->idle;
  while (*at != &own) at = &(*at)->next_idle;
  *at = own.next_idle;
  --count_.threads_idle;
}

void blocking_pool::take_head(crew& from) noexcept {
  from.first = from.first->driver_next;
  if (from.first == nullptr) from.last = nullptr;
}

operation* blocking_pool::next_call(seat& own, std::unique_lock<std::mutex>& hold) noexcept {
  while (!ending_) {
    operation* const given = std::exchange(own.given, nullptr);
    if (given != nullptr && !std::exchange(own.drops_given, false)) return given;
    if (operation* const op = own.of->first; op != nullptr) {
      take_head(*own.of);
      --count_.queued;
      --ports_[op->home].queued;
      own.given_since = op->queued_ns;
      return op;
    }
    own.next_idle = std::exchange(own.of->idle, &own);
    ++count_.threads_idle;
    const auto told = [&] { return ending_ || own.given != nullptr; };
    static_cast<void>(own.called.wait_for(hold, idle_limit_, told));
    if (own.given != nullptr) continue;
    leave_idle(own);
    return nullptr;
  }
  return nullptr;
}

void blocking_pool::run(seat& own) noexcept {
  std::unique_lock hold(lock_);
  while (operation* const op = next_call(own, hold)) {
    const std::int64_t begin = clock_ns();
    own.now = {op, op->home, begin};
    std::shared_ptr<resolve_request> question;
    if (op->code == op_code::resolve)
      question = static_cast<resolve_request*>(op->more)->weak_from_this().lock();
    own.asks = question != nullptr;
    hold.unlock();
    const std::int64_t result = question ? resolve_blocking(*question) : perform_blocking(*op);
    const std::int64_t end = clock_ns();
    hold.lock();
    own.asks = false;
    const bool is_awaited = std::exchange(own.now, {}).op != nullptr;
    count_.run_ns.record(span(begin, end));
    ++count_.finished;
    if (!is_awaited) continue;
    count_.wait_ns.record(span(own.given_since, begin));
    op->last_result = result;
    op->driver_next = nullptr;
    port& p = ports_[op->home];
    *p.finished_end = op;
    p.finished_end = &op->driver_next;
    // One wake is enough for all calls that finish before the worker looks.
    // release: pairs with has_finished()
    if (p.finished_any.exchange(true, std::memory_order_release)) continue;
    hold.unlock();  // so that the worker, once awake, finds the lock free
    const std::uint64_t one = 1;
    static_cast<void>(!::write(p.wake_fd, &one, sizeof one));
    hold.lock();
  }
  own.occupied = false;
  --own.of->threads;
  --count_.threads;
}

}  // namespace heddle
