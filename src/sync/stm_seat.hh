// SPDX-License-Identifier: MIT
// Counting commits: each worker that runs transactions has a seat, and counts its own commits. A
// variable's version is a stamp: the seat of the commit that wrote it, and that commit's number
// there. So commits on different data write nothing in common, not even a clock.
//
// This is enough because a commit takes its number once it holds the locks of all that it writes.
// A worker that has seen number n of a seat, in a variable or in the seat's record, finds every
// variable that commits up to n write locked or written. A worker notes the last number that it has
// seen of each seat; a read whose stamp is not beyond it belongs to the moment of the note or
// before. A stamp beyond it makes the transaction check all that it has read, then note and go on.
//
// A seat that is given back keeps its number for its next owner. When all are taken, the
// others share seat 0, whose number they step together.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heddle/core/worker.hh"
#include "heddle/sync/detail/stm_log.hh"

namespace heddle::detail {

/// A stamp: bit 0 is the lock's and is 0, the next bits are the seat, and the bits above count the
/// seat's commits. Stamps of one seat compare as numbers. Every variable begins with stamp 0.
inline constexpr unsigned stm_seat_bits = 8;
inline constexpr std::size_t stm_seats_max = std::size_t{1} << stm_seat_bits;
inline constexpr std::uint64_t stm_step = std::uint64_t{2} << stm_seat_bits;

[[nodiscard]] inline std::size_t seat_of(std::uint64_t stamp) noexcept {
  return (stamp >> 1) & (stm_seats_max - 1);
}

/// A seat's record, on a cache line of its own, because its owner steps it at each commit.
struct alignas(64) stm_seat_record {
  std::atomic<bool> taken{false};
  std::atomic<std::uint64_t> last{0};  ///< the stamp of the last commit that began to write
};

/// Thread: its worker's. Owns: the seat, which is free again when the worker ends.
class stm_seat final : public worker_part {
 public:
  /// The worker's seat, made at its first transaction.
  [[nodiscard]] static stm_seat& of(worker& w) {
    if (w.transactions == nullptr) [[unlikely]]
      make(w);
    return static_cast<stm_seat&>(*w.transactions);
  }
  explicit stm_seat() noexcept;
  ~stm_seat() override;

  [[nodiscard]] bool has_seen(std::uint64_t stamp) const noexcept {
    return stamp <= seen_[seat_of(stamp)];
  }
  void note(std::uint64_t stamp) noexcept {
    std::uint64_t& last = seen_[seat_of(stamp)];
    if (last < stamp) last = stamp;
  }
  /// As note(), for a stamp that is newer than all that this seat has seen.
  void note_own(std::uint64_t stamp) noexcept { seen_[seat_of(stamp)] = stamp; }
  /// The last stamp of the seat that this stamp belongs to.
  [[nodiscard]] static std::uint64_t newest_like(std::uint64_t stamp) noexcept;
  /// The next stamp, for a commit that holds its locks.
  [[nodiscard]] std::uint64_t next_stamp() noexcept {
    if (shared_) [[unlikely]]
      return next_shared_stamp();
    own_ += stm_step;
    // release: pairs with newest_like(), after the locks were taken
    record_->last.store(own_, std::memory_order_release);
    return own_;
  }

  /// Counts a failure. Returns how many failures in a row, up to this one, came few commits after
  /// the failure before.
  unsigned note_failure() noexcept {
    const bool soon = own_ - failed_at_ < commits_between * stm_step;
    failed_at_ = own_;
    failures_ = soon ? failures_ + 1 : 0;
    return failures_;
  }

  bool in_use = false;  ///< a transaction is under way; the notes are its view
  stm_log log;          ///< the log of that transaction

 private:
  [[gnu::cold, gnu::noinline]] static void make(worker& w);
  [[nodiscard]] std::uint64_t next_shared_stamp() noexcept;

  stm_seat_record* record_;
  bool shared_;  // seat 0, shared by the workers that found no free one
  static constexpr std::uint64_t commits_between = 1024;
  std::uint64_t failed_at_ = 0;  // own_ at the last failure
  unsigned failures_ = 0;
  std::uint64_t own_ = 0;  // the seat's last stamp; that of seat 0 is in its record only
  std::array<std::uint64_t, stm_seats_max> seen_{};
};

}  // namespace heddle::detail
