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
  /// When a node that was armed for a time fires. A node that was armed for a span has no such time
  /// until the next turn.
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

  // The scheduler's own data.
  std::uint32_t color = 0;  ///< the color in which it fires: a place, or no_color
  std::uint8_t home = 0;    ///< the worker whose wheel has it

 protected:
  /// Replaces the function that the node was made with. Call this before the node is armed.
  void fires(fire_function fire) noexcept { fire_ = fire; }

  bool for_worker = false;  ///< fires between colors, on the worker that armed it

 private:
  friend class timer_wheel;
  friend class color_timers;
  friend struct timer_message;
  void disarm_shared() noexcept;

  // Armed where another worker may look at the node at any time. Its links, on_its_way_ and
  // message_ are then touched only under its wheel's lock.
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
