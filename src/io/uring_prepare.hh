// SPDX-License-Identifier: MIT
// How each operation is put as an io_uring request, and which readiness it would wait for.
#pragma once

#include "heddle/sched/operation.hh"
#include "io/uring_ring.hh"

namespace heddle {

/// Whether io_uring carries this operation out itself (the others go to the blocking pool).
[[nodiscard]] constexpr bool native_to_uring(op_code code) noexcept {
  return code != op_code::list && code != op_code::resolve && code != op_code::call;
}
[[nodiscard]] constexpr bool multishot(op_code code) noexcept {
  return code == op_code::accept_all || code == op_code::receive_all;
}

/// Fills a request for a native operation, all but user_data.
void prepare(io_uring_sqe& request, const operation& op) noexcept;

/// The poll events after which a request that ended with EAGAIN is worth repeating; 0 when never.
[[nodiscard]] unsigned readiness_of(const operation& op) noexcept;

}  // namespace heddle
