// SPDX-License-Identifier: MIT
// The loop of the workers: ready frames, posted calls, completions, timers, sleep. One worker turns
// on its own thread (turn_alone); several turn on theirs (turn_shared), between begin_world() and
// end_world(); in a simulation one thread turns for all of them, in an order drawn from the seed
// (turn_simulated).
#pragma once

#include <atomic>
#include <cstdint>

#include "sched/color_runner.hh"
#include "sched/color_timers.hh"
#include "sched/completion_delivery.hh"
#include "sched/inspection.hh"
#include "sched/posted_calls.hh"

namespace heddle {

/// Thread: the first worker's, except where a member says otherwise.
class event_loop {
 public:
  event_loop(worker_set& all, worker_parking& parked, color_runner& colors, color_timers& timers,
             completion_delivery& completions, posted_calls& posted, inspection& look) noexcept
      : all_(all),
        parked_(parked),
        colors_(colors),
        timers_(timers),
        completions_(completions),
        posted_(posted),
        look_(look) {}

  /// Seeds the order in which a simulation runs its workers.
  void seed(std::uint64_t draw) noexcept { draw_ = draw; }
  /// Runs ready frames, then lets the driver and the timers queue more; sleeps only if `may_sleep`.
  /// False when nothing is ready and nothing will ever come.
  bool turn(bool may_sleep);
  /// Makes a few turns of the first worker, or of the simulated ones, without sleep.
  void turn_once();
  // world.cc
  /// Lets the other workers run from here on.
  void begin_world();
  /// Stops the other workers: the first thread is alone again, and is color 0.
  void end_world() noexcept;
  /// Moves frames that the main thread posted on behalf of color 0 into color 0's inbox.
  void stop_being_color_0() noexcept;

  /// runtime::add_background(), runtime::add_foreign(). Thread: any.
  void add_background(int change) noexcept { background_.fetch_add(change); }
  void add_foreign(int change) noexcept { foreign_.fetch_add(change); }

 private:
  bool turn_alone(seat& s, bool may_sleep);
  bool turn_shared(seat& s, bool may_sleep);
  bool turn_simulated(bool may_sleep);
  [[nodiscard]] bool anything_outside(std::size_t pending) noexcept;
  [[nodiscard]] bool waits_in_vain(seat& s) noexcept;
  [[nodiscard]] std::size_t in_background() const noexcept;
  [[nodiscard]] bool other_threads() noexcept;
  /// The end of a sleep: sooner while the program waits for other threads.
  [[nodiscard]] time_point ask_again(seat& s, time_point until) noexcept {
    if (foreign_.load(std::memory_order_relaxed) <= 0) [[likely]]
      return until;
    return end_for_threads(s, until);
  }
  [[nodiscard, gnu::cold, gnu::noinline]] time_point end_for_threads(seat& s,
                                                                     time_point until) noexcept;
  [[nodiscard, gnu::cold, gnu::noinline]] bool bring_in(seat& s);
  void run_posted();
  void run_preblock(seat& s);
  void stand_in(seat& s) noexcept;
  [[gnu::noinline]] void run_worker(seat& s) noexcept;
  void pause_here(seat& s) noexcept;

  worker_set& all_;
  worker_parking& parked_;
  color_runner& colors_;
  color_timers& timers_;
  completion_delivery& completions_;
  posted_calls& posted_;
  inspection& look_;
  std::atomic<long> background_{0};
  std::atomic<long> foreign_{0};
  std::uint64_t draw_ = 0;  ///< state of the simulated order
};

}  // namespace heddle
