// SPDX-License-Identifier: MIT
// Frames that wait for an object which several colors share: a channel, a semaphore, a job. The
// object is locked for a few instructions where the runtime has several workers; with one worker
// nothing is locked.
//
// A waiter is a cell of its own, because a wake from another color travels as a message and may
// meet a frame that has withdrawn meanwhile. States: waiting (in the object's list), told (taken
// from it, the message is on its way or its frame is queued), gone (withdrawn while told; the
// message frees it). The list is the lock's; the rest belongs to the waiter's color.
#pragma once

#include <mutex>
#include <utility>

#include "abi/objects.hh"
#include "abi/waiting.hh"

namespace heddle::abi {

class waiters;

struct shared_wait : own_wait {
  shared_wait(waiters& of, worker& w) noexcept
      : own_wait(kind_of_wait), object(&of), color(w.color) {}
  static const wait_kind kind_of_wait;

  waiters* object;
  std::uint32_t color;
  shared_wait* next = nullptr;
  bool listed = false;
  bool told = false;  ///< a message from another color is on its way
  bool gone = false;
};

/// Thread: any. Owns: nothing; it lives in its object, which is counted.
class waiters {
 public:
  explicit waiters(bool several_workers) noexcept : shared_(several_workers) {}
  /// A second list of one object, under the lock of the first.
  explicit waiters(waiters& first) noexcept : shared_(false), lock_owner_(&first) {}
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;

  [[nodiscard]] std::unique_lock<std::mutex> hold() {
    if (lock_owner_ != nullptr) return lock_owner_->hold();
    return shared_ ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
  }
  /// Wakes the oldest waiter, which then asks again. Call it while the lock is held.
  void tell_one(worker& w) noexcept;
  void tell_all(worker& w) noexcept {
    while (first_ != nullptr) tell_one(w);
  }

  /// Adds the frame: HEDDLE_PARKED, or an error. Call it while the lock is held.
  [[nodiscard]] std::int64_t add(heddle_worker* hw, heddle_wait* at, heddle_frame* self) noexcept;
  /// The answer to a frame that asks again: 0 if it was told, an error if it was cancelled, else
  /// HEDDLE_PARKED.
  [[nodiscard]] static std::int64_t asked_again(heddle_worker* hw, heddle_wait* at) noexcept;
  void remove(shared_wait& x) noexcept;

 private:
  bool shared_;
  waiters* lock_owner_ = nullptr;
  std::mutex lock_;
  shared_wait* first_ = nullptr;
  shared_wait** last_ = &first_;
};

/// One step of an operation on a shared object: try_it() under the lock gives an answer, or
/// HEDDLE_PARKED when it has to wait.
template <class Try>
std::int64_t ask_shared(heddle_worker* hw, waiters& on, heddle_wait* at, heddle_frame* self,
                        Try&& try_it) noexcept {
  worker& w = from(hw);
  if (at->kind != nullptr) {
    const std::int64_t again = waiters::asked_again(hw, at);
    if (again != 0) return again;
  } else if (w.current_context().canceled()) {
    return reason(w, -ECANCELED);
  }
  const auto held = on.hold();
  const std::int64_t answer = try_it(w);
  if (answer != HEDDLE_PARKED) return answer;
  return on.add(hw, at, self);
}

}  // namespace heddle::abi
