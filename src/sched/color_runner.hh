// SPDX-License-Identifier: MIT
// The colors of one runtime: the table of them, posting a frame to one, entering and leaving one,
// running the frames of colors that have work, and stealing colors from workers that have more.
// With one worker no step here is atomic.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sched/color_table.hh"
#include "sched/worker_parking.hh"
#include "sched/worker_set.hh"

namespace heddle {

/// Thread: any worker's, each with its own seat.
/// Owns: the table, and the root scope of each color until free_roots().
class color_runner {
 public:
  color_runner(worker_set& all, worker_parking& parked)
      : all_(all), parked_(parked), table_(all.options.color_places) {}
  color_runner(const color_runner&) = delete;
  ~color_runner();

  /// Sends a frame to a color, from the worker of this seat.
  void post(seat& s, std::uint32_t place, link l) noexcept;
  /// Brings a frame to a color between two turns. It goes through the color's inbox even if this
  /// worker holds the color, because an earlier frame, which another worker brought in this one's
  /// place, may be there.
  void bring(seat& s, std::uint32_t place, link l) noexcept {
    if (all_.shared) {
      post(s, place, l);
    } else {
      s.w.post_to(place, l);
    }
  }
  /// Runs up to `limit` frames, a bounded batch of each color in turn. Returns whether any ran.
  bool run(seat& s, std::size_t limit) noexcept;

  void enter(seat& s, color_record& r) noexcept;
  void leave(seat& s) noexcept;
  /// Makes a color the current one between frames; false if another worker holds it, or it is in a
  /// queue from which other workers may take it.
  [[nodiscard]] bool enter_for(seat& s, std::uint32_t place) noexcept {
    return s.w.color == place || enter_other(s, place);
  }
  /// Lets go of a color that is held, and queues it if frames have come.
  void give_back(seat& s, color_record& r) noexcept {
    if (!r.inbox.let_go()) queue(s, r, r.inbox.newest());
  }

  [[nodiscard]] color_record& at(std::uint32_t place) noexcept { return table_[place]; }
  [[nodiscard]] std::uint32_t place_of(const color_record& r) const noexcept {
    return table_.place_of(r);
  }
  [[nodiscard]] std::uint32_t places() const noexcept { return table_.places(); }
  /// Calls f with each record that ever ran, the latest first. Thread: any; no record is ever
  /// removed.
  template <class F>
  void each(F&& f) {
    for (color_record* r = used_.load(); r != nullptr; r = r->next_used) f(*r);
  }
  /// How many colors have a root with tasks. A color that is held is counted only when it is left,
  /// or by count_root().
  [[nodiscard]] long live_roots() const noexcept {
    return live_roots_.load(std::memory_order_relaxed);
  }
  void count_root(color_record& r) noexcept;

  /// While set, a root that is made is cancelled at once.
  bool draining = false;
  /// Set at the end if no task and no cell of memory is left.
  bool all_ended = false;

 private:
  [[nodiscard]] bool enter_other(seat& s, std::uint32_t place) noexcept;
  [[nodiscard]] bool hold_idle(seat& s, color_record& r) noexcept;
  void make_root(seat& s, color_record& r) noexcept;
  template <bool shared, bool instrumented>
  std::size_t run_frames(seat& s, std::size_t limit) noexcept;
  void queue(seat& s, color_record& r, link first) noexcept;
  /// As leave(), if no task policy keeps frames.
  void leave_plain(seat& s) noexcept;
  template <bool shared>
  std::size_t run_in_order(seat& s, std::size_t limit) noexcept;
  // color_stealing.cc
  [[nodiscard]] color_record* next(seat& s) noexcept;
  [[nodiscard]] color_record* steal(seat& s) noexcept;
  void push(seat& from, seat& to, color_record& r) noexcept;
  // slow_frames.cc
  std::size_t run_watched(seat& s, std::size_t limit) noexcept;
  [[nodiscard]] static bool is_slow_report_due(seat& s, site line) noexcept;
  static void report_slow(seat& s, std::span<const site> stack, nanoseconds took,
                          const class handler_watch& watch) noexcept;

  worker_set& all_;
  worker_parking& parked_;
  color_table table_;
  std::atomic<color_record*> used_{nullptr};
  std::atomic<long> live_roots_{0};
};

}  // namespace heddle
