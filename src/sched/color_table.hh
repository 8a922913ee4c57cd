// SPDX-License-Identifier: MIT
// The fixed table of colors. A color's number gives its place; there is nothing to make or to end.
//
// With several workers a record is held by at most one of them, and the holder may run the
// color: inbox.hh says how that is settled.
//
// One worker needs nothing of that: `queued` says that a color is in the worker's queue.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "heddle/base/error.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/policy.hh"
#include "sched/inbox.hh"

namespace heddle {

/// All zeros is an unused color.
struct color_record : ready_color {
  using ready_color::deadline_;
  using ready_color::place_;

  alignas(64) color_inbox<std::atomic<link>> inbox;
  frame_list waiting;  ///< the holder's, while the color does not run
  scope* root = nullptr;
  slot_guards* guards = nullptr;
  std::size_t foreign_slots = 0;
  color_record* next_used = nullptr;  ///< the list of records that ever ran
  std::uint16_t last_worker = 0;      ///< the worker's index plus 1; 0: it never ran
  bool queued = false;                ///< with one worker only
  bool counted = false;               ///< color_runner::live_roots() counts this color
  // Counts of the color's runs; only the holder changes them.
  std::uint64_t turns = 0;
  std::uint64_t frames = 0;
  std::uint64_t moves = 0;
  nanoseconds run{};
  nanoseconds waited{};  ///< sum of the spans between having work and running
  nanoseconds waited_most{};
  nanoseconds longest{};  ///< the longest turn
  time_point ready_since{};
};

/// 65,536 records by default, in memory that the kernel commits as it is touched.
class color_table {
 public:
  static constexpr std::uint32_t places_max = 65536;  // an event keeps its color in 16 bits

  /// Reserves the table. `places` is rounded up to a power of two, at most places_max. Throws
  /// failure.
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
