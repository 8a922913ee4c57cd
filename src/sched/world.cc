// SPDX-License-Identifier: MIT
// The threads of several workers: how they begin to run, stop for a look at everything, and stop at
// the end of run().
#include "heddle/base/detail/signal_handlers.hh"
#include "sched/event_loop.hh"

namespace heddle {

/// Between two turns: leaves the color that is held, because another worker wants to look at it.
void event_loop::pause_here(seat& s) noexcept {
  if (s.held != nullptr) colors_.leave(s);
  s.w.memory.collect_remote();
}

void event_loop::run_worker(seat& s) noexcept {
  s.w.stack_top = __builtin_frame_address(0);
  heddle_current_worker = &s.w;
  for (;;) {
    if (all_.pause.asked()) {
      pause_here(s);
      if (!all_.pause.wait(s.still)) break;
    }
    look_.answer();
    turn_shared(s, true);
  }
  heddle_current_worker = nullptr;
}

/// Moves frames that the main thread posted on behalf of color 0 into color 0's inbox.
void event_loop::stop_being_color_0() noexcept {
  seat& s = *all_.seats[0];
  if (!all_.shared || s.held != nullptr || s.w.color == no_color) return;
  color_record& first = colors_.at(0);
  first.guards = s.w.guards;
  first.foreign_slots = s.w.foreign_slots;
  s.w.color = no_color;
  while (!s.w.ready.empty()) colors_.post(s, 0, s.w.ready.pop());
}

/// Lets the other workers run from here on.
void event_loop::begin_world() {
  if (!all_.shared || all_.in_world) return;
  stop_being_color_0();
  all_.in_world = true;
  if (all_.simulated) return;
  // The first turn may already run a frame for long, and is then served like any other.
  const std::int64_t now = since_epoch(all_.seats[0]->io->now());
  for (const auto& s : all_.seats) s->round_at.store(now, std::memory_order_relaxed);
  for (const auto& s : all_.seats) {
    if (s->w.index == 0 || s->thread.joinable()) continue;
    const detail::signals_held_off quiet;  // signals are handled on the first thread
    try {
      s->thread = std::thread([this, seat = s.get()] { run_worker(*seat); });
    } catch (...) {
      all_.in_world = false;
      throw;
    }
  }
  all_.pause.end();
}

/// Stops the other workers: the first thread is alone again, and is color 0.
void event_loop::end_world() noexcept {
  seat& s = *all_.seats[0];
  if (all_.in_world && !all_.simulated) {
    std::unique_lock turn_to_look(all_.pause.one_at_a_time, std::defer_lock);
    while (!turn_to_look.try_lock()) {  // another worker looks at everything, and waits for us
      if (all_.pause.asked()) {
        pause_here(s);
        static_cast<void>(all_.pause.wait(s.still));
      }
      std::this_thread::yield();
    }
    all_.pause.begin(all_.seats.size() - 1, true, nanoseconds::max(), [this] {
      for (const auto& each : all_.seats)
        if (each->w.index != 0) each->io->wake();
    });
  }
  all_.in_world = false;  // now that no other worker reads it
  look_.answer();
  if (s.w.color == 0) return;
  if (!all_.shared) {
    static_cast<void>(colors_.enter_for(s, 0));
    return;
  }
  if (s.held != nullptr) colors_.leave(s);
  color_record& first = colors_.at(0);
  if (first.inbox.hold()) {
    colors_.enter(s, first);
    return;
  }
  // Color 0 has work and is in a queue: until the next run this thread only takes its context.
  s.w.color = 0;
  s.w.root_scope = first.root;
  s.w.root_context = s.w.context_now = first.root->context_of_tasks();
  s.w.guards = first.guards;
  s.w.foreign_slots = first.foreign_slots;
}

}  // namespace heddle
