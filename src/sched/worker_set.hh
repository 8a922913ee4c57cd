// SPDX-License-Identifier: MIT
// The workers of one runtime, and the state that they share: the parts of the runtime
// (color_runner, worker_parking, color_timers, completion_delivery, posted_calls, inspection,
// event_loop) each have a reference to this and to the parts that they use, never to the runtime.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/core/worker.hh"
#include "heddle/sched/runtime_options.hh"
#include "sched/seat.hh"
#include "sched/world_pause.hh"

namespace heddle {

struct worker_set {
  explicit worker_set(const runtime_options& all) noexcept
      : options(all),
        instrumented(all.watch || all.policy || all.task_policy ||
                     all.slow_handler > nanoseconds::zero()) {}

  [[nodiscard]] seat& of(const worker& w) noexcept { return *seats[w.index]; }
  [[nodiscard]] seat& first() noexcept { return *seats[0]; }
  [[nodiscard]] std::size_t size() const noexcept { return seats.size(); }

  template <class F>
  bool while_all_stand_still(nanoseconds patience, F&& look);

  const runtime_options& options;
  std::vector<std::unique_ptr<seat>> seats;
  world_pause pause;
  bool shared = false;     ///< several workers: records are held as color_table.hh says
  bool simulated = false;  ///< all of them on one thread
  bool instrumented;       ///< turns are timed, watched, or in a policy's order
  bool in_world = false;   ///< the other workers may run; changes while they are paused
};

/// Stops the other workers, between two frames or inside a frame that waits for its own look, and
/// calls look(whether all have stopped). After `patience` it calls look() even if some still run.
/// False: look() was not called, because the program ends meanwhile.
template <class F>
bool worker_set::while_all_stand_still(nanoseconds patience, F&& look) {
  if (!shared || simulated || !in_world) {
    look(true);
    return true;
  }
  seat& self = of(worker::here());
  std::unique_lock turn_to_look(pause.one_at_a_time, std::defer_lock);
  while (!turn_to_look.try_lock()) {
    if (pause.asked() && !pause.wait_in_frame(self.still)) return false;
    std::this_thread::yield();
  }
  const bool all = pause.begin(seats.size() - 1, false, patience, [&] {
    for (const auto& s : seats)
      if (s.get() != &self) s->io->wake();
  });
  struct go_on {
    world_pause& pause;
    ~go_on() { pause.end(); }
  } const at_end{pause};
  look(all);
  return true;
}

}  // namespace heddle
