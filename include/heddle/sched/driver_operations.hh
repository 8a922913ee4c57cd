// SPDX-License-Identifier: MIT
// Operations in, completions out: requests to a driver that may take time, and the blocks of memory
// in which it puts received bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/base/clock.hh"
#include "heddle/base/detail/block_lender.hh"
#include "heddle/sched/operation.hh"
#include "heddle/sched/pool_statistics.hh"

namespace heddle {

/// Counts of one driver's receive blocks.
struct block_statistics {
  std::uint32_t count = 0;   ///< blocks of the driver
  std::uint32_t free = 0;    ///< blocks that are not lent
  std::uint64_t scarce = 0;  ///< completions that were marked scarce

  /// Whether less than a quarter is free: that is enough for a turn of connections that read at
  /// once.
  [[nodiscard]] bool few_left() const noexcept { return 4 * std::uint64_t{free} < count; }
};

/// Thread: the worker's, except where a member says otherwise.
class driver_operations : public block_lender {
 public:
  /// Takes a request. Returns false when its completions will come later, from turn(). Returns true
  /// when it is already done: then `now` holds its one completion and op.complete is not called
  /// (never for multishot operations). Never blocks, never fails otherwise. Operations of one kind
  /// that wait on one descriptor together share the input; the driver decides in which order they
  /// end. A caller that needs an order submits them one at a time, as room io's lanes do. A
  /// receive_all that finds no block free waits until one comes back.
  /// A driver that returns false has moved the operation to delivery_state::pending and set its
  /// `home` and `color`; the operation moves on when its completions are delivered.
  [[nodiscard]] virtual bool submit(operation& op, worker& w, completion& now) noexcept = 0;

  /// Asks a pending operation to end. Its completion still comes, from turn() or inside this call,
  /// with what it really did, or -ECANCELED.
  virtual void cancel(operation& op, worker& w) noexcept = 0;

  /// Sends what is batched and delivers completions. Sleeps until there is one, until wake(), or
  /// until `until`; with `until` in the past it does not sleep, and makes no system call unless
  /// something is batched or may have completed. If it has delivered a completion, it does not
  /// sleep, because that may have armed an earlier timer.
  virtual void turn(worker& w, time_point until) noexcept = 0;

  /// Ends a sleep in turn(), or the next one. Thread: any. Async-signal-safe.
  virtual void wake() noexcept = 0;

  /// Whether the last turn, which had no limit, ended because nothing can come any more. Only a
  /// simulated world knows that.
  [[nodiscard]] virtual bool stalled() const noexcept { return false; }

  /// How many operations the driver holds.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Reads the counts of the pool for calls that block. A driver without a pool (simulation) leaves
  /// `out` as it is.
  virtual void read_pool([[maybe_unused]] pool_statistics& out) noexcept {}

  // For a foreign loop (io/foreign_loop.hh), which sleeps in the driver's place.
  /// A descriptor that becomes readable when turn() would find something; -1 if there is none.
  [[nodiscard]] virtual int descriptor() noexcept { return -1; }
  /// Called when the descriptor has become readable, before the turns that follow.
  virtual void drain_descriptor() noexcept {}
  /// Whether the kernel has not got all requests yet: another turn is then due before any sleep.
  [[nodiscard]] virtual bool unsent() const noexcept { return false; }

  // Receive blocks. return_block: thread: any worker's.
  [[nodiscard]] virtual block_statistics blocks() const noexcept { return {}; }
  [[nodiscard]] virtual std::byte* block_at(std::uint32_t block) noexcept = 0;
  [[nodiscard]] virtual std::uint32_t block_bytes() const noexcept = 0;
  void return_block(std::uint32_t block) noexcept override = 0;

 protected:
  ~driver_operations() = default;
};

}  // namespace heddle
