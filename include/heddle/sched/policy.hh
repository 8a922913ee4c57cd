// SPDX-License-Identifier: MIT
// Which color a worker runs next. A policy is an object, one for each worker, that learns which
// colors have work and chooses the next. Without a policy, colors run first come, first served.
// Tasks of one color run in the order in which they became ready, with any policy; in a program of
// one color no policy is asked.
//
//   runtime_options o;
//   o.policy = [] { return strict_priorities([](color c) { return c.number < 10 ? 0u : 1u; }); };
//
// A color is in at most one policy at a time, and only while it has work and does not run. A policy
// must not allocate in push() or pop(): it links the colors through the two members that are its
// own, as color_list and color_heap do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "heddle/core/context.hh"

namespace heddle {

/// A color that has work. Thread: the policy's caller; with several workers that is under a
/// lock, so be short.
class ready_color {
 public:
  ready_color() noexcept = default;
  ready_color(const ready_color&) = delete;
  ready_color& operator=(const ready_color&) = delete;

  /// The color's place in the table of colors: its number itself where that is below
  /// runtime_options::color_places.
  [[nodiscard]] color number() const noexcept { return color(place_); }
  /// The deadline of the frame that waits first, for policies that use it (uses_deadlines()).
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

  ready_color* next = nullptr;   ///< the policy's own
  ready_color* child = nullptr;  ///< the policy's own
  std::uint64_t key = 0;         ///< the policy's own; stays with the color

 protected:
  std::uint32_t place_ = 0;
  time_point deadline_ = never;
};

class policy {
 public:
  policy() noexcept = default;
  policy(const policy&) = delete;
  policy& operator=(const policy&) = delete;
  virtual ~policy() = default;

  /// Adds a color that has work now.
  virtual void push(ready_color& c) noexcept = 0;
  /// Takes out the color to run next, for this worker or for one that steals; null when there is
  /// none.
  [[nodiscard]] virtual ready_color* pop() noexcept = 0;
  /// Tells how long the color ran. Called only if uses_time() is true; the simulation counts 1 us a
  /// frame.
  virtual void ran([[maybe_unused]] ready_color& c, [[maybe_unused]] nanoseconds span) noexcept {}
  [[nodiscard]] virtual bool uses_time() const noexcept { return false; }
  /// Tells that another worker has taken the color, which now belongs to that worker's policy.
  virtual void left([[maybe_unused]] ready_color& c) noexcept {}
  [[nodiscard]] virtual bool uses_deadlines() const noexcept { return false; }
};

/// First in, first out.
class color_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(ready_color& c) noexcept {
    c.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &c;
    last_ = &c;
  }
  [[nodiscard]] ready_color* pop() noexcept {
    ready_color* const c = first_;
    if (c != nullptr) first_ = c->next;
    return c;
  }

 private:
  ready_color* first_ = nullptr;
  ready_color* last_ = nullptr;
};

/// The least key first, ties in the order of the pushes: a pairing heap through next and child.
class color_heap {
 public:
  [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
  [[nodiscard]] const ready_color* top() const noexcept { return top_; }
  void push(ready_color& c) noexcept;
  [[nodiscard]] ready_color* pop() noexcept;

 private:
  [[nodiscard]] static ready_color* meld(ready_color* a, ready_color* b) noexcept;
  ready_color* top_ = nullptr;
};

/// Lower levels first, even if colors wait in higher ones; within a level first come, first served.
/// Levels from 0 to 63; higher numbers count as 63.
[[nodiscard]] std::unique_ptr<policy> strict_priorities(std::function<unsigned(color)> level_of);

/// The color whose first waiting frame has the earliest deadline (with_deadline, with_timeout).
[[nodiscard]] std::unique_ptr<policy> earliest_deadline();

/// Colors get time in proportion to their weights (1 and above). A color that slept is not owed
/// the share that it did not use.
[[nodiscard]] std::unique_ptr<policy> weighted_shares(std::function<unsigned(color)> weight_of);

/// Any order, drawn from the seed: for tests.
[[nodiscard]] std::unique_ptr<policy> seeded_shuffle(std::uint64_t seed);

}  // namespace heddle
