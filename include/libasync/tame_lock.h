/* SPDX-License-Identifier: MIT
 * tame::lock_t: a lock, exclusive or shared, whose waiters are events. They enter in their order;
 * adjacent sharers enter together. Thread: one color.
 */
#pragma once

#include <cassert>
#include <cstddef>
#include <list>
#include <utility>

#include "async.h"

namespace tame {

class lock_t {
 public:
  enum mode_t { OPEN = 0, SHARED = 1, EXCLUSIVE = 2 };

  /// A place in the queue. It lives until the waiter enters or is cancelled.
  struct waiter_t {
    waiter_t(mode_t m, evv_t e) : mode(m), enters(std::move(e)) {}
    mode_t mode;
    evv_t enters;
  };

  explicit lock_t(mode_t mode = OPEN) : mode_(mode), sharers_(mode == SHARED ? 1 : 0) {}
  lock_t(const lock_t&) = delete;
  lock_t& operator=(const lock_t&) = delete;

  /// Triggers e when the lock is held in this mode. Gives the waiter, or null if e was triggered at
  /// once.
  waiter_t* acquire(mode_t mode, evv_t e) {
    assert(mode != OPEN);
    waiting_.emplace_back(mode, std::move(e));
    waiter_t* const mine = &waiting_.back();
    return advance(mine) ? nullptr : mine;
  }
  /// Waits at most this time: e gets whether the lock is held.
  void timed_acquire(mode_t mode, unsigned seconds, unsigned milliseconds, evb_t e) {
    heddle::rendezvous<bool> r;
    bool held = false;
    waiter_t* const w = acquire(mode, r.make_event(true));
    const double span = static_cast<double>(seconds) + static_cast<double>(milliseconds) * 1e-3;
    if (w != nullptr) tamer::at_delay(span, r.make_event(false));
    co_await heddle::tame::next(r, held);
    if (!held && r.has_ready()) held = true;  // lock and timer in one turn
    r.clear();
    if (!held) cancel(w);
    e.trigger(held);
    co_return;
  }
  void release() {
    assert(mode_ != OPEN);
    if (mode_ == SHARED && --sharers_ != 0) return;
    mode_ = OPEN;
    static_cast<void>(advance(nullptr));
  }
  /// Takes a waiter out of the queue; its event is not triggered.
  void cancel(waiter_t* w) {
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (&*at != w) continue;
      canceled_.remove_if([](const evv_t& e) { return !e; });
      canceled_.push_back(std::move(at->enters));
      waiting_.erase(at);
      break;
    }
    static_cast<void>(advance(nullptr));
  }
  [[nodiscard]] mode_t mode() const noexcept { return mode_; }

 private:
  /// The waiters at the head enter as far as the mode lets them. True if this one did.
  bool advance(const waiter_t* mine) {
    bool entered = false;
    while (!waiting_.empty()) {
      waiter_t& first = waiting_.front();
      if (!first.enters) {  // the waiting function has ended
        waiting_.pop_front();
        continue;
      }
      if (mode_ == EXCLUSIVE || (mode_ == SHARED && first.mode == EXCLUSIVE)) break;
      mode_ = first.mode;
      if (mode_ == SHARED) ++sharers_;
      const evv_t enters = std::move(first.enters);
      entered = entered || &first == mine;
      waiting_.pop_front();
      enters.trigger();
    }
    return entered;
  }

  std::list<waiter_t> waiting_;
  std::list<evv_t> canceled_;  ///< kept until they are empty: dropping an event fires it
  mode_t mode_;
  unsigned sharers_;
};

}  // namespace tame
using tame::lock_t;
