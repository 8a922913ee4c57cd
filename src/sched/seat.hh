// SPDX-License-Identifier: MIT
// One worker's seat: the worker with all that is its own. Its memory and ready list
// (core/worker.hh) and its timers come first, then its driver, the color that it holds, its queue
// of colors, and the data that other threads may read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/base/detail/relaxed_count.hh"
#include "heddle/core/event.hh"
#include "heddle/core/worker.hh"
#include "heddle/sched/detail/timer_wheel.hh"
#include "heddle/sched/driver.hh"
#include "sched/color_table.hh"
#include "sched/run_queue.hh"
#include "sched/task_order.hh"

namespace heddle {

struct cancel_request;

/// The counts of worker_statistics. read_workers() reads them while the worker runs.
struct worker_counts {
  relaxed_count turns;
  relaxed_count steals;
  relaxed_count parks;
  relaxed_count wakes;
  relaxed_count messages;
};

[[nodiscard]] inline std::int64_t since_epoch(time_point t) noexcept {
  return t.time_since_epoch().count();
}

/// Thread: its worker's, except where a member says otherwise.
struct seat {
  seat(region& memory, scheduler& owner, time_point start) noexcept
      : w(memory, owner), wheel(start) {}

  /// Allocates a seat at the second cache line of a page. In the low bits of their addresses, the
  /// hot members then lie between the headers of chunks and their first cells (base/slab.cc), so
  /// that the processor does not mistake a store into one for a store into another.
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t) {
    return static_cast<std::byte*>(::operator new(bytes + line, page)) + line;
  }
  static void operator delete(void* at, std::align_val_t) noexcept {
    ::operator delete(static_cast<std::byte*>(at) - line, page);
  }
  static constexpr std::size_t line = 64;
  static constexpr std::align_val_t page{4096};

  /// Whether frames of a color are ready here; for one of several workers.
  [[nodiscard]] bool has_work() const noexcept {
    return !w.ready.empty() || !queue.empty() || (held != nullptr && held->inbox.has_more());
  }

  worker w;
  timer_wheel wheel;
  short_lock wheel_lock;  // with several workers
  std::unique_ptr<class driver> own;
  class driver* io = nullptr;
  color_record* held = nullptr;           ///< the color whose frames are in w.ready
  const color_record* sent_to = nullptr;  ///< the color that the last frame went to
  link sent_last = 0;                     ///< probably the newest frame there
  bool running = false;                   ///< a frame runs: no color may be entered now
  time_point polled_at{};
  time_point turn_began{};    ///< with options.watch
  nanoseconds nap{};          ///< how long the worker sleeps at most while others work
  time_point stood_in_at{};   ///< when the worker last looked for workers in a long run
  bool looked_again = false;  ///< whether it looked again since its last work or wake
  unsigned spins_left = 0;
  operation* kept_completions = nullptr;  ///< completions that no memory was left to send
  std::vector<event<>> preblock;
  std::uint64_t preblocks = 0;  ///< how often preblock events were fired
  worker_counts count;          ///< any thread may read it
  std::vector<std::pair<site, time_point>> slow_reports;

  std::unique_ptr<detail::task_order> tasks;  ///< null without a task policy

  alignas(64) run_queue queue;
  std::atomic<cancel_request*> cancels{
      nullptr};  // requests to cancel; changed under the queue's lock

  // Thread: any reads them.
  alignas(64) std::atomic<std::size_t> pending{0};  ///< operations, when the worker last parked
  std::atomic<std::int64_t> round_at{0};            ///< when the loop last came round, in ns
  // For a dump while this worker runs: the colors whose lists it may be changing (quiet_colors.hh).
  std::atomic<const color_record*> in_hand{nullptr};  ///< the color that the worker has entered
  std::atomic<const color_record*> taken{nullptr};    ///< the color that it is about to enter
  std::atomic<site> went_on_at{0};                    ///< the line where its frame went on
  bool still = false;                                 ///< guarded by the lock of world_pause
  std::thread thread;

  /// How many completions of this driver's operations are on their way to their colors as messages.
  /// A completion that could run at once must not overtake them: the end of an operation would come
  /// before its data. Counted by hashed addresses, which costs an operation no room; two operations
  /// that share a count only take the longer way now and then.
  [[nodiscard]] std::atomic<std::uint32_t>& on_their_way(const operation& op) noexcept {
    return on_their_way_[(reinterpret_cast<std::uintptr_t>(&op) >> 4) % on_their_way_.size()];
  }
  std::array<std::atomic<std::uint32_t>, 256> on_their_way_{};
};

}  // namespace heddle
