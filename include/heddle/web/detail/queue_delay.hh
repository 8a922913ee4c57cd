// SPDX-License-Identifier: MIT
// Measures how long requests wait before they begin. A request waits in two places: in the kernel
// until the event loop polls, and then in the ready queue until its connection runs. This class
// estimates both. docs/reference/overload.md tells what it measures and what it misses.
//
// Ready queue: in each turn with several requests, a mark (a small task) is queued behind all ready
// frames. Every frame that runs before the mark became ready in or before the poll that began the
// oldest queued mark's turn.
//
// Kernel: events returned by one poll arrived after the previous poll. If the loop did not sleep
// between the two, the time between them is a `gap`. In a persistent queue, a request served late
// in the turn also arrived late in the gap, so its wait is the longer of the two. A poll need not
// return all pending events, so now and then a probe is sent: a byte to ourselves that waits in the
// kernel as requests do. If polls leave events behind, the probe's round trip takes at least the
// gap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "heddle/base/clock.hh"

namespace heddle::http {

/// Thread: one color. It makes no calls; its owner queues the marks that it asks for.
class queue_delay {
 public:
  /// How long the request that begins now has waited. `turn` is the time when the worker's turn
  /// began.
  [[nodiscard]] nanoseconds of_next(time_point turn) noexcept {
    if (turn != present_.turn) {
      begin_turn(turn);
    } else {
      wants_mark_ = !marked_ && queued_ != marks_.size();
    }
    const look& brought = queued_ != 0 ? marks_[first_] : present_;
    return std::max(now_ - brought.turn, brought.gap);
  }
  /// The latest known time: a reading of the clock within this turn, or its beginning.
  [[nodiscard]] time_point now() const noexcept { return now_; }
  /// Passes on a reading of the clock that was made for another purpose.
  void note_time(time_point now) noexcept { now_ = std::max(now_, now); }

  /// Whether the owner should queue a mark behind all ready frames.
  [[nodiscard]] bool wants_mark() const noexcept { return wants_mark_; }
  void mark_queued() noexcept {
    wants_mark_ = false;
    marked_ = true;
    ++watching_;
    marks_[(first_ + queued_++) % marks_.size()] = present_;
  }
  /// Notes that the oldest mark has left the queue. It must now keep the loop from sleeping once.
  void mark_ran() noexcept {
    first_ = (first_ + 1) % marks_.size();
    --queued_;
  }
  /// Notes that the next poll has ended, without a sleep, in the turn that began at `turn`.
  void mark_ended(time_point turn) noexcept {
    --watching_;
    awake_until_ = turn;
  }

  /// Whether to send a probe: none is under way, and the last one is at least `spacing` old.
  [[nodiscard]] bool wants_probe(time_point now, nanoseconds spacing) const noexcept {
    return !probing_ && now - probe_sent_ >= spacing;
  }
  void probe_left(time_point now) noexcept {
    probing_ = true;
    probe_sent_ = now;
  }
  /// Notes that the probe arrived with the poll that began the turn `turn`.
  void probe_came(time_point turn) noexcept {
    probing_ = false;
    in_kernel_ = std::max(turn - probe_sent_, nanoseconds::zero());
  }

  /// The time for which the loop is known to have been busy since the last call.
  [[nodiscard]] nanoseconds take_busy() noexcept {
    const nanoseconds busy = busy_;
    busy_ = {};
    return busy;
  }

 private:
  struct look {
    time_point turn{};
    nanoseconds gap{};
  };
  void begin_turn(time_point turn) noexcept {
    // If no mark was under way, the loop may have slept, and then nothing waited in the kernel.
    const bool awake = watching_ != 0 || awake_until_ == turn;
    const nanoseconds since = awake ? turn - present_.turn : nanoseconds::zero();
    busy_ += since;
    if (!awake) in_kernel_ = {};
    if (awake && probing_) in_kernel_ = std::max(in_kernel_, turn - probe_sent_);
    present_ = {turn, std::max(since, in_kernel_)};
    now_ = turn;
    marked_ = false;
    wants_mark_ = false;
  }

  std::array<look, 16>
      marks_{};  // if the ready queue holds more turns than this, they are not told apart
  std::size_t first_ = 0;
  std::size_t queued_ = 0;
  std::size_t watching_ = 0;  // marks that have not ended
  look present_{time_point::min(), {}};
  time_point now_{};
  time_point awake_until_ = time_point::min();
  time_point probe_sent_{};
  nanoseconds in_kernel_{};  // the last probe's wait in the kernel; zero after a sleep
  nanoseconds busy_{};
  bool probing_ = false;
  bool marked_ = false;
  bool wants_mark_ = false;
};

}  // namespace heddle::http
