// SPDX-License-Identifier: MIT
// Waiting for variables to change. A waiter watches each variable that its transaction has read:
// a record in the variable's list, which only the holder of the variable's lock touches. A commit
// takes the records of the variables that it writes off their lists, and wakes their waiters once
// it has unlocked everything.
//
// States of a waiter: watching -> parked -> woken, watching -> woken, parked -> canceled. A commit
// that changes parked to woken, on another thread, posts to the waiter's runtime, which therefore
// cannot go on before: a cancellation that comes in between gives way.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "heddle/sched/runtime.hh"
#include "heddle/sync/atomically.hh"

namespace heddle::detail {

struct stm_watch {
  const tvar_base* var;
  stm_waiter* owner;
  stm_watch* prev = nullptr;
  stm_watch* next = nullptr;
  bool linked = false;
};

class changed_wait;

class stm_waiter {
 public:
  enum class state : std::uint8_t { watching, parked, woken, canceled };

  stm_waiter();
  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  /// Watches everything that the transaction has read; false when something has changed.
  [[nodiscard]] bool watch(const transaction& tx);
  void unwatch() noexcept;
  /// Wakes the function, because something has changed. Thread: any.
  void wake() noexcept;

  std::atomic<state> now{state::watching};
  std::atomic<bool> claimed{false};  ///< some commit will wake it
  stm_waiter* next_woken = nullptr;  ///< the next waiter that the same commit wakes
  changed_wait* awaiter = nullptr;   ///< the suspended awaiter, of the waiter's color

 private:
  ~stm_waiter() = default;
  struct releases {
    void operator()(stm_waiter* w) const noexcept { w->release(); }
  };
  using reference = std::unique_ptr<stm_waiter, releases>;
  void wake_from(worker& w) noexcept;

  std::atomic<std::uint32_t> refs_{1};
  runtime& home_;
  std::uint32_t color_;  ///< where the function waits: a place in the table of colors
  std::vector<stm_watch> watches_;
};

/// The waiters that one commit will wake.
class stm_wake_list {
 public:
  /// Takes the waiters of a variable. Thread: the holder of the variable's lock.
  void take_from(const tvar_base& v) noexcept;
  /// Wakes the waiters. Call this after everything is unlocked.
  void wake() noexcept {
    if (first_ != nullptr) [[unlikely]]
      wake_all();
  }

 private:
  void wake_all() noexcept;

  stm_waiter* first_ = nullptr;
};

}  // namespace heddle::detail
