// SPDX-License-Identifier: MIT
// How long requests wait before they are begun, as exactly as one event loop can know it. A request
// waits in two places: in the kernel until the loop looks there, and in the ready queue until its
// connection runs. docs/reference/overload.md says what this sees and what it cannot.
//
// Ready queue: a mark is queued in each turn that has several requests, behind all that is ready.
// Whatever runs while a mark is still queued stands before it, so it became ready with the look
// that began the oldest queued mark's turn.
// Kernel: what a look brings came after the look before. If the loop did not sleep between the two,
// the time from one to the other is a `gap`, and in a queue that stands, what was served late in
// the turn came late in the gap: the wait is the longer of the two. A look need not bring all that
// is there, so now and then a probe is sent: a byte to ourselves that waits in the kernel as
// requests do. Its way there and back is never shorter than the gap when looks leave things behind.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "heddle/base/clock.hh"

namespace heddle::http {

/// Thread: one color. It calls nobody; whoever owns it queues the marks that it asks for.
class queue_delay {
 public:
  /// How long the request that begins now has waited. `turn`: when the worker's turn began.
  [[nodiscard]] nanoseconds of_next(time_point turn) noexcept {
    if (turn != present_.turn) {
      begin_turn(turn);
    } else {
      wants_mark_ = !marked_ && queued_ != marks_.size();
    }
    const look& brought = queued_ != 0 ? marks_[first_] : present_;
    return std::max(now_ - brought.turn, brought.gap);
  }
  /// The last known time: a reading of the clock within this turn, or its beginning.
  [[nodiscard]] time_point now() const noexcept { return now_; }
  /// A reading of the clock, where one is made anyway.
  void note_time(time_point now) noexcept { now_ = std::max(now_, now); }

  /// Whether a mark is due: something to be queued behind all that is ready.
  [[nodiscard]] bool wants_mark() const noexcept { return wants_mark_; }
  void mark_queued() noexcept {
    wants_mark_ = false;
    marked_ = true;
    ++watching_;
    marks_[(first_ + queued_++) % marks_.size()] = present_;
  }
  /// The oldest mark was taken from the queue. It now has to keep the loop from sleeping once.
  void mark_ran() noexcept {
    first_ = (first_ + 1) % marks_.size();
    --queued_;
  }
  /// The look that followed is over, without a sleep, in the turn that began at `turn`.
  void mark_ended(time_point turn) noexcept {
    --watching_;
    awake_until_ = turn;
  }

  /// A mark may send a probe if none is on its way and the last is `spacing` old.
  [[nodiscard]] bool wants_probe(time_point now, nanoseconds spacing) const noexcept {
    return !probing_ && now - probe_sent_ >= spacing;
  }
  void probe_left(time_point now) noexcept {
    probing_ = true;
    probe_sent_ = now;
  }
  /// It came with the look that began the turn `turn`.
  void probe_came(time_point turn) noexcept {
    probing_ = false;
    in_kernel_ = std::max(turn - probe_sent_, nanoseconds::zero());
  }

  /// Time in which the loop is known to have been busy, since this was last asked.
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
    // Without a mark on its way the loop may have slept, and then nothing waited in the kernel.
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

  std::array<look, 16> marks_{};  // more turns than this in one ready queue are not told apart
  std::size_t first_ = 0;
  std::size_t queued_ = 0;
  std::size_t watching_ = 0;  // marks that have not ended
  look present_{time_point::min(), {}};
  time_point now_{};
  time_point awake_until_ = time_point::min();
  time_point probe_sent_{};
  nanoseconds in_kernel_{};  // what the last probe met there, while the loop has not slept
  nanoseconds busy_{};
  bool probing_ = false;
  bool marked_ = false;
  bool wants_mark_ = false;
};

}  // namespace heddle::http
