// SPDX-License-Identifier: MIT
// A worker's queue of colors that have work, in the order of its policy. With several workers,
// other workers push colors here, and steal from here when they have no other work: so no color
// waits behind a long run. The same lock guards the worker's parking_spot.
#pragma once

#include <atomic>
#include <memory>

#include "sched/color_table.hh"
#include "sched/parking.hh"

namespace heddle {

/// A lock that is held for a few instructions.
class short_lock {
 public:
  void lock() noexcept {
    while (locked_.exchange(true, std::memory_order_acquire)) wait();
  }
  [[nodiscard]] bool try_lock() noexcept {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }
  /// Tells the processor that this is a loop that waits.
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

 private:
  [[gnu::noinline]] void wait() noexcept;
  std::atomic<bool> locked_{false};
};

class run_queue {
 public:
  /// Adds a color that has work. The caller has the lock, or there is one worker.
  void push(color_record& c) noexcept {
    if (policy_ == nullptr) return push_in_order(c);
    policy_->push(c);
    count_.store(size() + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] color_record* pop() noexcept {
    if (policy_ == nullptr) return pop_in_order();
    if (size() == 0) return nullptr;
    return taken(policy_->pop());
  }
  /// As push() and pop(), for a queue that has no policy.
  void push_in_order(color_record& c) noexcept {
    list_.push(c);
    count_.store(size() + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] color_record* pop_in_order() noexcept {
    if (size() == 0) return nullptr;
    return taken(list_.pop());
  }
  /// Thread: any.
  [[nodiscard]] std::uint32_t size() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] class policy* policy() noexcept { return policy_.get(); }
  void set_policy(std::unique_ptr<class policy> p) noexcept { policy_ = std::move(p); }

  short_lock lock;
  parking_spot spot;  ///< guarded by the lock

 private:
  [[nodiscard]] color_record* taken(ready_color* c) noexcept {
    if (c == nullptr) return nullptr;
    count_.store(size() - 1, std::memory_order_relaxed);
    return static_cast<color_record*>(c);
  }

  std::atomic<std::uint32_t> count_{0};
  color_list list_;
  std::unique_ptr<class policy> policy_;
};

}  // namespace heddle
