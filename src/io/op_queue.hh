// SPDX-License-Identifier: MIT
// A line of operations that a driver holds, through their driver_next and driver_prev: no
// allocation, and each leaves from any place in constant time. The first one's driver_prev is the
// last one.
#pragma once

#include <utility>

#include "heddle/sched/operation.hh"

namespace heddle {

struct op_queue {
  operation* first = nullptr;

  [[nodiscard]] bool empty() const noexcept { return first == nullptr; }
  void push(operation& op) noexcept {
    op.driver_next = nullptr;
    if (first == nullptr) {
      first = op.driver_prev = &op;
      return;
    }
    op.driver_prev = std::exchange(first->driver_prev, &op);
    op.driver_prev->driver_next = &op;
  }
  void remove(operation& op) noexcept {
    (&op == first ? first : op.driver_prev->driver_next) = op.driver_next;
    operation* const behind = op.driver_next != nullptr ? op.driver_next : first;
    if (behind != nullptr) behind->driver_prev = op.driver_prev;
  }
};

}  // namespace heddle
