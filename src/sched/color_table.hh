// SPDX-License-Identifier: MIT
// The fixed table of colors. A color's number gives its place; there is nothing to make or to end.
//
// With several workers a record is held by at most one of them, and whoever holds it may run the
// color. Its inbox says how it stands:
//   idle               nothing to do, and nobody holds it
//   busy               queued or held; nothing has come
//   a chain of links   queued or held; these have come, newest first
// Whoever makes an idle record busy must queue it or hold it. Only who holds it makes it idle, when
// the inbox is empty. So it is in one queue at most, and what runs in it is ordered by the inbox:
// the release of one holder is seen by the next.
//
// With one worker nothing of that is needed: `queued` says that it is in the worker's queue.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "heddle/base/error.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/policy.hh"

namespace heddle {

/// All zeros is an unused color.
struct color_record : ready_color {
  static constexpr link idle = 0;
  static constexpr link busy = 2;  // no link: links are multiples of 8, or of 8 and 1

  alignas(64) std::atomic<link> inbox{idle};
  frame_list waiting;  ///< the holder's, while the color does not run
  scope* root = nullptr;
  slot_guards* guards = nullptr;
  std::size_t foreign_slots = 0;
  color_record* next_used = nullptr;  ///< all records that ever ran
  std::uint16_t last_worker = 0;      ///< and 1; 0: it never ran
  bool queued = false;                ///< with one worker only
  bool counted = false;               ///< its root has tasks: runtime::live_roots_
  // What it did; the holder's.
  std::uint64_t turns = 0;
  std::uint64_t frames = 0;
  std::uint64_t moves = 0;
  nanoseconds run{};
  nanoseconds waited{};  ///< from having work to running, in all
  nanoseconds waited_most{};
  nanoseconds longest{};  ///< the longest turn
  time_point ready_since{};

  /// Sends a frame. True: it was idle, and the caller must queue it. Thread: any.
  [[nodiscard]] bool send(link l) noexcept {
    link old = inbox.load(std::memory_order_relaxed);
    do {
      next_of(l) = old;
      // release: the frame's content; acquire: what the last holder left, for who queues it
    } while (
        !inbox.compare_exchange_weak(old, l, std::memory_order_acq_rel, std::memory_order_relaxed));
    return old == idle;
  }
  /// Takes what has come, behind what waits. Thread: the holder.
  void take_inbox() noexcept {
    if (inbox.load(std::memory_order_relaxed) == busy) return;
    link l = inbox.exchange(busy, std::memory_order_acquire);
    link oldest = no_link;
    while (l > busy) {
      const link before = next_of(l);
      next_of(l) = oldest;
      oldest = l;
      l = before;
    }
    while (oldest != no_link) {
      const link after = next_of(oldest);
      waiting.push(oldest);
      oldest = after;
    }
  }
  /// Takes hold of an idle record.
  [[nodiscard]] bool hold() noexcept {
    link expected = idle;
    return inbox.load(std::memory_order_relaxed) == idle &&
           inbox.compare_exchange_strong(expected, busy, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  /// Lets go of it; false when something has come, so that it stays held.
  [[nodiscard]] bool let_go() noexcept {
    link expected = busy;
    return inbox.compare_exchange_strong(expected, idle, std::memory_order_release,
                                         std::memory_order_relaxed);
  }
};

/// 65,536 records by default, in memory that the kernel commits as it is touched.
class color_table {
 public:
  static constexpr std::uint32_t places_max = 65536;  // an event keeps its color in 16 bits

  /// `places` is rounded up to a power of two, at most places_max. Throws failure.
  explicit color_table(std::uint32_t places) {
    while (places_ < places && places_ < places_max) places_ *= 2;
    void* const at = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      throw failure(kernel_error(-errno),
                    "cannot reserve the table of colors; lower runtime_options::color_places");
    records_ = static_cast<color_record*>(at);
  }
  ~color_table() { ::munmap(records_, bytes()); }
  color_table(const color_table&) = delete;
  color_table& operator=(const color_table&) = delete;

  [[nodiscard]] color_record& operator[](std::uint32_t place) noexcept { return records_[place]; }
  [[nodiscard]] std::uint32_t place_of(const color_record& r) const noexcept {
    return static_cast<std::uint32_t>(&r - records_);
  }
  [[nodiscard]] std::uint32_t places() const noexcept { return places_; }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return places_ * sizeof(color_record); }
  color_record* records_ = nullptr;
  std::uint32_t places_ = 1;
};

}  // namespace heddle
