// SPDX-License-Identifier: MIT
// timer: a function that the scheduler calls at a moment: an intrusive node of its timer wheel.
// Arming and disarming are constant time and never allocate or fail; a node that dies armed disarms
// itself.
#pragma once

#include <cstdint>

#include "heddle/base/clock.hh"
#include "heddle/base/list.hh"

namespace heddle {

class worker;

class timer_node : public list_node {
 public:
  using fire_function = void (*)(timer_node&, worker&) noexcept;
  explicit timer_node(fire_function fire) noexcept : fire_(fire) {}

  ~timer_node() {
    if (shared_) [[unlikely]]
      disarm_shared();
  }

  /// Thread: the color's that armed it. Only that color changes shared_; while it is set, another
  /// worker may change the links.
  [[nodiscard]] bool armed() const noexcept { return shared_ || linked(); }
  /// Of one that was armed for a time; one that was armed for a span has none until the next turn.
  [[nodiscard]] time_point due() const noexcept { return due_; }
  void disarm() noexcept {
    if (shared_) [[unlikely]] {
      disarm_shared();
    } else {
      unlink();
    }
  }

  /// For room sched: calls the function. The node may be gone afterwards.
  void fire(worker& w) noexcept { fire_(*this, w); }

  // The scheduler's own.
  std::uint32_t color = 0;  ///< in which it fires: a place in the table, or no_color
  std::uint8_t home = 0;    ///< the worker whose wheel has it

 protected:
  /// Another function than it was made with; before it is armed.
  void fires(fire_function fire) noexcept { fire_ = fire; }

  bool for_worker = false;  ///< fires between colors, on the worker that armed it

 private:
  friend class timer_wheel;
  friend class color_timers;
  friend struct timer_message;
  void disarm_shared() noexcept;

  // Armed where another worker may look at it at any time, so that only its wheel's lock lets its
  // links, and the two below, be touched.
  bool shared_ = false;
  bool on_its_way_ = false;  // taken from the wheel: message_ brings it to its color
  fire_function fire_;
  time_point due_{};
  union {
    std::uint64_t order_ = 0;  // registration order: ties fire in it
    void* message_;
  };
};

}  // namespace heddle
