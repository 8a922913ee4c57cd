// SPDX-License-Identifier: MIT
// One worker with all that is its own, and how workers are made to stand still.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <new>
#include <thread>

#include "heddle/sched/runtime.hh"
#include "sched/color_table.hh"
#include "sched/run_queue.hh"

namespace heddle {

/// A request that only an operation's home worker can carry out, and its answer.
struct runtime::mail : frame {
  operation* op = nullptr;
  mail* after = nullptr;
};

struct runtime::seat {
  seat(region& memory, runtime& owner, time_point start) noexcept
      : w(memory, owner), wheel(start) {}

  /// The second line of a page: what is hot here then lies between the headers of chunks and their
  /// first cells (base/slab.cc), and a store into one does not look like one into another.
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t) {
    return static_cast<std::byte*>(::operator new(bytes + line, page)) + line;
  }
  static void operator delete(void* at, std::align_val_t) noexcept {
    ::operator delete(static_cast<std::byte*>(at) - line, page);
  }
  static constexpr std::size_t line = 64;
  static constexpr std::align_val_t page{4096};

  worker w;
  timer_wheel wheel;
  short_lock wheel_lock;  // with several workers
  std::unique_ptr<class driver> own;
  class driver* io = nullptr;
  color_record* held = nullptr;           ///< whose frames are in w.ready
  const color_record* sent_to = nullptr;  ///< where the last frame went,
  link sent_last = 0;                     ///< and what is probably the newest one there
  bool running = false;                   ///< a frame runs: no color may be entered now
  time_point polled_at{};
  time_point turn_began{};  ///< with options.watch
  nanoseconds nap{};        ///< how long it sleeps at most while others work
  bool calm = false;        ///< has looked once more since it last worked or was woken
  unsigned spins_left = 0;
  std::vector<event<>> preblock;
  worker_statistics count;
  std::vector<std::pair<site, time_point>> slow_reports;

  alignas(64) run_queue queue;
  std::atomic<mail*> letters{nullptr};  // changed under the queue's lock
  bool woken_by_push = false;           // likewise
  bool asleep = false;                  // likewise; counted in asleep_

  // Thread: any reads them.
  alignas(64) std::atomic<bool> parked{false};
  std::atomic<bool> hopeless{false};      ///< parked, and nothing of its own can come
  std::atomic<std::size_t> pending{0};    ///< operations, when it was last between turns
  std::atomic<std::int64_t> round_at{0};  ///< when it last came round, in ns
  std::thread thread;
};

/// Makes workers wait between two turns. Thread: any worker's, one at a time.
class world_pause {
 public:
  [[nodiscard]] bool asked() const noexcept { return asked_.load(std::memory_order_relaxed); }
  /// Returns when `count` workers stand still; wake(i) is called until they do. At a program's end
  /// none may stand in the middle of a frame.
  template <class Wake>
  void begin(std::size_t count, bool at_end, Wake&& wake) {
    std::unique_lock hold(lock_);
    asked_.store(true, std::memory_order_relaxed);
    at_end_ = at_end;
    if (at_end) changed_.notify_all();
    while (still_ + (at_end ? 0 : in_frame_) != count) {
      wake();
      changed_.wait_for(hold, std::chrono::milliseconds(1));
    }
  }
  void end() noexcept {
    const std::lock_guard hold(lock_);
    asked_.store(false, std::memory_order_relaxed);
    changed_.notify_all();
  }
  /// For a worker that is asked: returns when end() was called, or with false when it must leave.
  bool wait() noexcept {
    std::unique_lock hold(lock_);
    ++still_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !asked() || leaving_; });
    --still_;
    return !leaving_;
  }
  /// For a worker that is in the middle of a frame, and wants to look at everything after who does
  /// now: returns when end() was called, or with false when the program ends.
  bool wait_in_frame() noexcept {
    std::unique_lock hold(lock_);
    if (!asked()) return true;
    ++in_frame_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return !asked() || at_end_; });
    --in_frame_;
    return !asked();
  }
  void leave() noexcept {
    const std::lock_guard hold(lock_);
    leaving_ = true;
    changed_.notify_all();
  }

  std::mutex one_at_a_time;

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<bool> asked_{true};  // workers are born still
  bool at_end_ = false;
  std::size_t still_ = 0;
  std::size_t in_frame_ = 0;  // others, in the middle of a frame
  bool leaving_ = false;
};

}  // namespace heddle
