// SPDX-License-Identifier: MIT
// Parking: how a worker without work goes to sleep in its driver, and how another one wakes it.
//
//   state     the worker                                       leaves it by
//   running   runs frames, spins, or looks at its driver       park()
//   dozing    sleeps in its driver, at most for its nap        call(), unpark()
//   asleep    sleeps in its driver until something comes       call(), unpark()
//   called    was dozing or asleep; another worker woke it     unpark()
//
// Legal moves: running -> dozing, asleep; dozing, asleep -> called, running; called -> running.
// Builds with sanitizers, and those without NDEBUG, check each move.
//
// No wake-up is lost: a state changes only under the lock of the worker's run queue, and a worker
// parks only if that queue and its list of cancel requests are empty under the same lock. A sender
// adds work under the lock and calls the worker if it is parked.
//
// A program waits in vain when all workers are parked, none has a timer, and nothing can come from
// outside: event_loop::waits_in_vain(). Each worker asks that after it has parked, about all
// workers. No worker keeps an answer, because the answer changes while it sleeps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heddle/base/detail/legal_move.hh"

namespace heddle {

enum class parking_state : std::uint8_t { running, dozing, asleep, called };

[[nodiscard]] constexpr bool is_parked(parking_state s) noexcept {
  return s == parking_state::dozing || s == parking_state::asleep;
}

[[nodiscard]] constexpr bool is_legal(parking_state from, parking_state to) noexcept {
  switch (to) {
    case parking_state::running:
      return from != parking_state::running;
    case parking_state::dozing:
    case parking_state::asleep:
      return from == parking_state::running;
    case parking_state::called:
      return is_parked(from);
  }
  return false;
}

/// One worker's parking state. Members without another word change only under the lock of its run
/// queue.
class parking_spot {
 public:
  /// Thread: any.
  [[nodiscard]] parking_state state() const noexcept {
    return state_.load(std::memory_order_seq_cst);
  }
  /// Whether the worker sleeps, or has been woken and is not back yet. Thread: any.
  [[nodiscard]] bool away() const noexcept {
    return state_.load(std::memory_order_relaxed) != parking_state::running;
  }
  /// The number of the worker's latest sleep.
  [[nodiscard]] std::uint64_t sleeps() const noexcept { return sleeps_; }

  /// Whether the worker had no timer when it parked. A timer of it may have been disarmed since.
  std::atomic<bool> no_timer{false};

 private:
  friend class parking;
  void move_to(parking_state next) noexcept {
    if constexpr (checks_moves) check_move(state_.load(std::memory_order_relaxed), next);
    // seq_cst: of the workers that become quiescent one after the other, the last sees all.
    state_.store(next, std::memory_order_seq_cst);
  }

  std::atomic<parking_state> state_{parking_state::running};
  std::uint64_t sleeps_ = 0;
  bool pushed_ = false;  ///< a color was queued here since it parked
};

/// The workers of one runtime that are parked. The caller of each function holds the lock of the
/// worker's run queue.
class parking {
 public:
  /// Parks a worker. `dozes`: the worker wakes up by itself after its nap, and looks for work.
  void park(parking_spot& s, bool dozes) noexcept {
    s.move_to(dozes ? parking_state::dozing : parking_state::asleep);
    ++s.sleeps_;
    s.pushed_ = false;
    away_.fetch_add(1, std::memory_order_relaxed);
    if (!dozes) asleep_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Calls a worker. True: it was parked, and the caller must wake its driver. `pushed`: a color
  /// was queued there.
  [[nodiscard]] bool call(parking_spot& s, bool pushed = false) noexcept {
    const parking_state before = s.state_.load(std::memory_order_relaxed);
    if (!is_parked(before)) return false;
    if (before == parking_state::asleep) asleep_.fetch_sub(1, std::memory_order_relaxed);
    s.move_to(parking_state::called);
    s.pushed_ = pushed;
    return true;
  }
  /// The cause that ended a sleep.
  enum class wake_reason : std::uint8_t { own, called, pushed };
  wake_reason unpark(parking_spot& s) noexcept {
    const parking_state before = s.state_.load(std::memory_order_relaxed);
    if (before == parking_state::asleep) asleep_.fetch_sub(1, std::memory_order_relaxed);
    s.move_to(parking_state::running);
    away_.fetch_sub(1, std::memory_order_relaxed);
    if (before != parking_state::called) return wake_reason::own;
    return s.pushed_ ? wake_reason::pushed : wake_reason::called;
  }

  // Thread: any.
  /// How many workers are not running.
  [[nodiscard]] std::size_t away() const noexcept { return away_.load(std::memory_order_relaxed); }
  /// How many workers look for work only when they are woken.
  [[nodiscard]] std::size_t asleep() const noexcept {
    return asleep_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> away_{0};
  std::atomic<std::uint32_t> asleep_{0};
};

}  // namespace heddle
