// SPDX-License-Identifier: MIT
// A connection that goes from color to color, through a channel for instance. The driver receives
// ahead of its readers, in the color that has read last; so the first operation in another color
// ends the receiving there, and waits until it has ended.
#pragma once

#include "abi/conn_wait.hh"
#include "abi/objects.hh"
#include "abi/waiting.hh"

namespace heddle::abi {

/// Whether the driver may still receive for the connection, in another color than the worker's.
[[nodiscard]] inline bool reads_elsewhere(heddle_conn* c, const worker& w) noexcept {
  const std::uint32_t color = input_of(c).color();
  return color != no_color && color != w.color;
}

struct detached {};

/// The slow path of come_here(): begins to move the connection, or asks whether it has moved.
[[nodiscard]] std::int64_t move_here(heddle_worker* hw, heddle_conn* c, conn_wait& at,
                                     heddle_frame* self);

/// Takes the connection to the frame's color, if it was read in another one: HEDDLE_PARKED, 0, or
/// an error. Each operation that waits calls it first, each time that it is called.
[[nodiscard]] inline std::int64_t come_here(heddle_worker* hw, heddle_conn* c, conn_wait& at,
                                            heddle_frame* self) {
  const void* const kind = at.kind();
  if (kind == nullptr ? !reads_elsewhere(c, from(hw)) : kind != &task_run<detached>::ops) [[likely]]
    return 0;
  return move_here(hw, c, at, self);
}

}  // namespace heddle::abi
