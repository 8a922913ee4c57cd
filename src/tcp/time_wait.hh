// SPDX-License-Identifier: MIT
// Connections in TIME-WAIT: records of 32 bytes in a table of their own, bounded. When it is full,
// the oldest goes early.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/tcp/sequence.hh"
#include "tcp/pool.hh"
#include "tcp/timer.hh"

namespace heddle::tcp {

struct time_wait_record {
  std::uint64_t key = 0;  // hash of the flow, of 63 bits; the lowest bit: it has timestamps
  sequence snd_nxt = 0;
  sequence rcv_nxt = 0;
  std::uint32_t ts_recent = 0;
  std::uint32_t due = 0;           // tick
  std::uint32_t link = no_index;   // same bucket
  std::uint32_t after = no_index;  // the next to be looked at
};
static_assert(sizeof(time_wait_record) == 32);

class time_wait_table {
 public:
  explicit time_wait_table(std::uint32_t limit) : limit_(limit), buckets_(64, no_index) {}

  /// The record of a flow's hash, or null.
  [[nodiscard]] time_wait_record* find(std::uint64_t hash) noexcept;
  void add(std::uint64_t hash, bool timestamps, const time_wait_record& r);
  /// Removes the record of a flow, because the flow is used again.
  void remove(std::uint64_t hash) noexcept;
  /// Drops the records that are due.
  void expire(instant now) noexcept;
  /// When the first one is due.
  [[nodiscard]] instant next(instant now) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return records_.used() - dead_; }

 private:
  [[nodiscard]] std::uint32_t& bucket(std::uint64_t hash) noexcept {
    return buckets_[hash >> 1 & (buckets_.size() - 1)];
  }
  void unlink(std::uint32_t index) noexcept;
  void pop_first() noexcept;
  void widen();

  std::uint32_t limit_;
  pool<time_wait_record, 128> records_;
  std::vector<std::uint32_t> buckets_;
  std::uint32_t first_ = no_index, last_ = no_index;
  std::size_t dead_ = 0;  // removed, and still in the queue
};

}  // namespace heddle::tcp
