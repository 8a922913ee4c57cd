// SPDX-License-Identifier: MIT
// A turn: ready frames in batches, then completions and timers, then sleep. A turn with ready work
// makes no system call. The clock is read once a batch, and I/O is polled by time.
#include "sched/event_loop.hh"

#include <sys/stat.h>

#include <algorithm>

namespace heddle {
namespace {

// Nothing tells the runtime that a thread has ended, so a program that waits for other threads
// looks for them this often.
constexpr nanoseconds look_for_threads_each = std::chrono::seconds(1);

}  // namespace

/// Whether the process has a thread that is none of this runtime's. The loop asks before it gives a
/// program up.
bool event_loop::other_threads() noexcept {
  struct stat tasks{};  // a directory has two links, and one for each directory in it
  if (::stat("/proc/self/task", &tasks) != 0) return true;
  pool_statistics pool;
  all_.first().io->read_pool(pool);
  const std::size_t ours = (all_.shared && !all_.simulated ? all_.size() : 1) + pool.threads;
  constexpr std::size_t of_sanitizer = HEDDLE_TSAN ? 1 : 0;
  return tasks.st_nlink > 2 + ours + of_sanitizer;
}

/// Whether something can still come to idle workers whose drivers hold this many operations.
bool event_loop::anything_outside(std::size_t pending) noexcept {
  if (pending > in_background()) [[likely]]
    return true;
  // A thread posts before it gives up its outside_work, so that is asked first. seq_cst: of a
  // worker that parks and a thread that gives up its outside_work, the later one sees the other.
  if (foreign_.load(std::memory_order_seq_cst) > 0 && other_threads()) return true;
  return posted_.has_any();
}

/// How many pending operations keep no program going. At the end of the program there are none,
/// because all have been asked to end.
std::size_t event_loop::in_background() const noexcept {
  if (colors_.draining) return 0;
  return static_cast<std::size_t>(background_.load(std::memory_order_relaxed));
}

/// For one of several workers, when it has parked: whether nothing is ready on any worker, and
/// nothing will ever come. It asks all workers now, because each answer may change during a sleep.
bool event_loop::waits_in_vain(seat& s) noexcept {
  std::size_t pending = s.pending.load(std::memory_order_relaxed);
  if (pending > in_background()) return false;  // the usual case, and quick
  return parked_.all_at_rest(pending) && !anything_outside(pending);
}

/// Nothing reports that a thread has ended, so the loop checks for other threads now and then.
time_point event_loop::end_for_threads(seat& s, time_point until) noexcept {
  if (s.io->simulated()) return until;
  return std::min(until, add_saturated(s.w.now, look_for_threads_each));
}

/// Runs posted calls and preblock events, which belong to no color yet. True during drain(): such a
/// call may have been the last that drain() waits for, so it must look again before a sleep.
bool event_loop::bring_in(seat& s) {
  if (posted_.has_any()) run_posted();
  if (s.w.idle() && !s.preblock.empty()) run_preblock(s);
  return colors_.draining;
}

bool event_loop::turn(bool may_sleep) {
  if (!all_.shared) return turn_alone(*all_.seats[0], may_sleep);
  if (all_.simulated) return turn_simulated(may_sleep);
  seat& s = *all_.seats[0];
  if (all_.in_world && all_.pause.asked()) {  // another worker wants to inspect all colors
    pause_here(s);
    static_cast<void>(all_.pause.wait(s.still));
  }
  return turn_shared(s, may_sleep);
}

bool event_loop::turn_alone(seat& s, bool may_sleep) {
  worker& w = s.w;
  if (!w.idle()) {
    colors_.run(s, all_.options.batch);
    w.now = s.io->now();
    const bool idle = w.idle();
    if (!idle && w.now - s.polled_at < all_.options.poll_interval) return true;
    if (idle && may_sleep) return true;  // the next turn looks at I/O and may sleep
  }
  if (w.foreign_slots != 0) [[unlikely]]
    detail::cut_loop_slots(w);
  bool looks_again = false;
  if (posted_.has_any() || !s.preblock.empty()) [[unlikely]]
    looks_again = bring_in(s);
  if (s.kept_completions != nullptr) [[unlikely]]
    completions_.bring_kept(s);
  if (s.wheel.has_unsettled()) [[unlikely]]
    timers_.settle(s, s.io->now());
  time_point until = time_point::min();
  if (may_sleep && w.idle() && !looks_again) {
    until = s.wheel.next_due();
    if (until == never && !anything_outside(s.io->pending())) return false;
    until = ask_again(s, until);
  }
  s.io->turn(w, until);
  if (until == never && s.io->stalled() && !posted_.has_any()) return false;
  w.now = s.polled_at = s.io->now();
  timers_.expire(s);
  if (posted_.has_any()) run_posted();
  w.memory.collect_remote();
  return may_sleep || !w.idle();
}

void event_loop::turn_once() {
  stop_being_color_0();
  if (all_.simulated) {
    const auto work = [this] {
      return std::any_of(all_.seats.begin(), all_.seats.end(),
                         [](const auto& s) { return !s->queue.empty(); });
    };
    std::size_t turns = all_.options.batch;
    do {
      turn_simulated(false);
    } while (work() && --turns != 0);
  } else if (all_.shared) {
    turn_shared(all_.first(), false);
  } else {
    turn(false);
  }
  end_world();
}

/// Runs posted calls, and then writes a dump that was asked for: no call is on its way by then.
void event_loop::run_posted() {
  posted_.run();
  look_.answer();
}

/// Fires preblock events. With several workers no color may be entered here: the trigger of another
/// color's event travels as a message.
void event_loop::run_preblock(seat& s) {
  std::vector<event<>> ripe = std::exchange(s.preblock, {});
  ++s.preblocks;
  for (event<>& e : ripe) {
    if (!all_.shared)
      static_cast<void>(colors_.enter_for(s, e.record() == nullptr ? 0 : e.record()->color));
    e.trigger();
  }
}

}  // namespace heddle
