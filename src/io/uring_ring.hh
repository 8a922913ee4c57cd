// SPDX-License-Identifier: MIT
// One io_uring: its setup with every refinement that this kernel grants, room for requests, and the
// one call into the kernel. A request that finds no room even after a flush waits in a backlog, in
// order, so filling one never fails. Independent of operations.
//
// The ring is made disabled and bound to the first thread that enters it, so that a driver may be
// made on one thread and run on another. With several workers it is bound to none of them.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <deque>

#include "heddle/base/clock.hh"

namespace heddle {

/// Counters of a ring; tests and benchmarks read them.
struct uring_stats {
  std::uint64_t enters = 0;       ///< calls into the kernel
  std::uint64_t sleeps = 0;       ///< enters that were allowed to wait
  std::uint64_t requests = 0;     ///< requests the kernel took
  std::uint64_t completions = 0;  ///< completions reaped
  std::uint64_t flushes = 0;      ///< enters because the submission ring was full
  std::uint64_t backlogged = 0;   ///< requests that waited outside of the ring
  std::uint64_t overflows = 0;    ///< turns that found the completion ring overrun
  std::uint64_t rearmed = 0;      ///< multishot requests started again
  std::uint64_t starved = 0;      ///< multishot receives that found no block
  std::uint64_t retried = 0;      ///< requests that waited for readiness because of O_NONBLOCK
};

/// Thread: the one that first calls enter(), apart from construction; others where it was made for
/// several, one at a time, between lend(true) and lend(false).
class uring_ring {
 public:
  /// `several`: several threads enter it, one at a time. Throws failure when the kernel refuses.
  uring_ring(std::uint32_t entries, std::uint32_t iowq_threads_max, bool several);
  ~uring_ring();
  uring_ring(const uring_ring&) = delete;
  uring_ring& operator=(const uring_ring&) = delete;

  /// A request to fill; it is sent with the next enter(), after all that were taken before it.
  [[nodiscard]] io_uring_sqe& request() noexcept {
    const unsigned used = ring_.sq.sqe_tail - *ring_.sq.khead;
    if (used < ring_.sq.ring_entries && backlog_.empty()) [[likely]]
      return ring_.sq.sqes[ring_.sq.sqe_tail++ & ring_.sq.ring_mask];
    return request_slow();
  }

  /// Sends batched requests; may sleep until there is a completion or `timeout` has passed (zero or
  /// less does not sleep, nanoseconds::max() has no end). False when the kernel could not take any.
  bool enter(nanoseconds timeout) noexcept;

  /// A descriptor that is readable while there may be completions, also such that only a call
  /// brings out, or while `wake_fd` is readable; made when first asked for, -1 if it cannot be. The
  /// ring's own descriptor will not do: with deferred completions, polling it wakes no thread.
  [[nodiscard]] int notices(int wake_fd) noexcept;
  void drain_notices() noexcept;
  /// Whether the kernel refused to give notices the last time. drain_notices() tries again.
  [[nodiscard]] bool deaf() const noexcept { return deaf_; }

  /// Whether there are requests that were not sent yet.
  [[nodiscard]] bool batched() const noexcept {
    return ring_.sq.sqe_tail != *ring_.sq.khead || !backlog_.empty();
  }
  /// Whether the kernel has completions that only a call brings out.
  [[nodiscard]] bool kernel_waits() const noexcept {
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) !=
           0;
  }
  [[nodiscard]] unsigned completions() const noexcept { return io_uring_cq_ready(&ring_); }

  /// Calls f(completion) for each that is there now, then frees their room at once.
  template <class F>
  unsigned reap(F&& f) noexcept {
    const unsigned count = completions();
    const unsigned head = *ring_.cq.khead;
    for (unsigned i = 0; i != count; ++i) {
      // The operation of the completion after next is likely cold: its frame has slept since.
      if (i + 2 < count) __builtin_prefetch(record_of(head + i + 2));
      f(ring_.cq.cqes[(head + i) & ring_.cq.ring_mask]);
    }
    io_uring_cq_advance(&ring_, count);
    stats.completions += count;
    return count;
  }

  /// Says that other threads than the first one make the next calls, or no longer.
  void lend(bool out) noexcept;

  [[nodiscard]] io_uring& raw() noexcept { return ring_; }
  [[nodiscard]] unsigned flags() const noexcept { return ring_.flags; }

  uring_stats stats;

 private:
  [[nodiscard]] const void* record_of(unsigned at) const noexcept {
    return reinterpret_cast<const void*>(ring_.cq.cqes[at & ring_.cq.ring_mask].user_data);
  }
  [[nodiscard, gnu::cold, gnu::noinline]] io_uring_sqe& request_slow() noexcept;
  void move_backlog() noexcept;
  [[gnu::cold, gnu::noinline]] void start() noexcept;
  void take_slot() noexcept;

  io_uring ring_{};
  std::deque<io_uring_sqe> backlog_;  // empty unless the kernel is out of memory
  unsigned enter_flags_ = IORING_ENTER_GETEVENTS;
  unsigned iowq_threads_max_;
  // Only inside a foreign loop: an epoll set, and the eventfd in it that the kernel counts up for
  // each completion.
  int notices_ = -1;
  int counted_ = -1;
  bool deaf_ = false;
  int enter_fd_ = -1;     // the descriptor, or the slot with IORING_ENTER_REGISTERED_RING
  int slot_ = -1;         // the slot in its first thread, and valid only there; or -1
  int slot_thread_ = -1;  // the number of that thread
  bool lent_ = false;
  bool started_ = false;
};

/// Makes a ring with the refinements that this kernel grants, dropping them one after the other
/// when it refuses. Returns 0 or -errno; ring.flags says what was granted. For several threads the
/// kernel must post completions while the first one is busy, so it may not leave them to its calls.
int open_ring(io_uring& ring, std::uint32_t entries, bool several = false) noexcept;

}  // namespace heddle
