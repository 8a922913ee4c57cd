// SPDX-License-Identifier: MIT
// The io_uring driver's record of a descriptor, the marks of its requests, and calls on pipes.
//
// user_data of a completion: the operation, with a tag in the low bits. 0: its own completion. 1: a
// request to cancel, whose completion is ignored. 2: the wake-up descriptor. 3: readiness that the
// operation waited for.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "heddle/io/detail/connection_bytes.hh"
#include "heddle/sched/operation.hh"
#include "io/system_call.hh"

namespace heddle {

inline constexpr std::uint64_t tag_mask = 7;
inline constexpr std::uint64_t tag_cancel = 1;
inline constexpr std::uint64_t tag_wake = 2;
inline constexpr std::uint64_t tag_ready = 3;

// operation::driver_state: the epoch of the descriptor in five bits, and where the operation is.
inline constexpr std::uint8_t waits_for_readiness = 0x40;
inline constexpr std::uint8_t waits_for_turn =
    0x80;  // in this driver: for a block or the next turn
// With both bits above it never equals `pooled` (0xff).
inline constexpr std::uint8_t epoch_mask = 0x1f;

/// A descriptor's number may be used again as soon as it is closed, so nothing may be sent for the
/// old one afterwards: close() sends what is batched first, and an operation keeps the epoch of its
/// descriptor, so that a restart after the close is noticed. Calls on names beneath a folder need
/// more: a thread of the kernel looks the folder's number up when it comes to the call, so the
/// number stays taken until the last of them has ended (kernel_driver::enter_number).
struct uring_descriptor {
  std::uint32_t pending = 0;
  std::uint8_t epoch = 0;
  bool fresh = false;      // accepted, and nothing has come on it yet
  bool pipe = false;       // one of our own, which is non-blocking
  bool exhausted = false;  // the last transfer of a pipe was short: the next one would block
};
static_assert(sizeof(uring_descriptor) == detail::bytes_of_number_io_uring);

// Pipes wait for readiness. Their data are copied at once, so a call of this thread costs less than
// a request that the ring carries out: the ring would first find nothing, then wait, and then copy
// in a task of its own. A request that waits for readiness is cheaper, and a pipe that is ready
// needs none.

/// Whether an operation reads or writes a pipe in this way.
[[nodiscard]] inline bool is_on_pipe(const uring_descriptor& fd, const operation& op) noexcept {
  return fd.pipe && (op.code == op_code::read || op.code == op_code::write);
}

/// Reads or writes; -EAGAIN: the rest must wait. A short transfer says that there is no more.
[[nodiscard]] inline std::int64_t try_pipe(uring_descriptor& fd, operation& op) noexcept {
  std::int64_t result;
  do {
    result = op.code == op_code::read ? system_call::read(op.fd, op.data, op.len)
                                      : system_call::write(op.fd, op.data, op.len);
  } while (result == -EINTR);
  fd.exhausted = result > 0 && result < op.len;
  if (!fd.exhausted || !op.whole) return result;
  op.data = static_cast<std::byte*>(op.data) + result;
  op.len -= static_cast<std::uint32_t>(result);
  op.moved += static_cast<std::size_t>(result);
  return -EAGAIN;
}

}  // namespace heddle
