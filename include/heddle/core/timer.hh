// SPDX-License-Identifier: MIT
// A moment that somebody waits for: an intrusive node that the scheduler's timer wheel links.
// Arming and disarming are constant time and never allocate or fail; a node that dies armed disarms
// itself.
#pragma once

#include "heddle/base/clock.hh"
#include "heddle/base/list.hh"

namespace heddle {

class worker;

class timer_node : public list_node {
 public:
  using fire_function = void (*)(timer_node&, worker&) noexcept;
  explicit timer_node(fire_function fire) noexcept : fire_(fire) {}

  [[nodiscard]] bool armed() const noexcept { return linked(); }
  [[nodiscard]] time_point due() const noexcept { return due_; }
  void disarm() noexcept { unlink(); }

 private:
  friend class timer_wheel;
  fire_function fire_;
  time_point due_{};
  std::uint64_t order_ = 0;  // registration order: ties fire in it
};

}  // namespace heddle
