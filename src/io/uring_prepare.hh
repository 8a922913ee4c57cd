// SPDX-License-Identifier: MIT
// How each operation becomes an io_uring request, and the readiness that it would wait for.
#pragma once

#include "heddle/sched/operation.hh"
#include "io/uring_ring.hh"

namespace heddle {

/// Whether io_uring carries this operation out itself (the others go to the blocking pool).
[[nodiscard]] constexpr bool native_to_uring(op_code code) noexcept {
  return code < op_code::open ||
         (code != op_code::list && code != op_code::resolve && code != op_code::call);
}
/// Whether a thread of the kernel looks the descriptor's number up when it makes the call. For all
/// other operations the kernel holds the file from the moment that it takes the request.
[[nodiscard]] constexpr bool looks_up_a_name(const operation& op) noexcept {
  static_assert(op_code::open > op_code::write, "transfers pay for one comparison");
  return op.code >= op_code::open && native_to_uring(op.code) && op.code != op_code::sync &&
         op.fd >= 0;
}
[[nodiscard]] constexpr bool multishot(op_code code) noexcept {
  return code == op_code::accept_all || code == op_code::receive_all;
}

/// Fills a request for a native operation, all but user_data.
void prepare(io_uring_sqe& request, const operation& op) noexcept;

/// The poll events after which a request that ended with EAGAIN is worth repeating; 0 when never.
[[nodiscard]] unsigned readiness_of(const operation& op) noexcept;

}  // namespace heddle
