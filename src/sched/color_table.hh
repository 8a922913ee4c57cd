// SPDX-License-Identifier: MIT
// The fixed table of colors. A color's number gives its place; there is nothing to make or to end.
//
// With several workers a record is held by at most one of them, and the holder may run the
// color: inbox.hh says how that is settled.
//
// One worker needs nothing of that: `queued` says that a color is in the worker's queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>

#include "heddle/base/detail/kept_range.hh"
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

/// 65,536 records by default, in memory that the kernel commits as it is touched. The addresses
/// serve the next runtime, too.
class color_table {
 public:
  static constexpr std::uint32_t places_max = 65536;  // an event keeps its color in 16 bits

  /// Reserves the table. `places` is rounded up to a power of two, at most places_max. Throws
  /// failure.
  explicit color_table(std::uint32_t places)
      : places_(std::bit_ceil(std::clamp(places, 1U, places_max))),
        range_(places_ * sizeof(color_record)) {
    if (range_.data() == nullptr)
      throw failure(kernel_error(-errno),
                    "cannot reserve the table of colors; lower runtime_options::color_places");
    records_ = reinterpret_cast<color_record*>(range_.data());
  }
  color_table(const color_table&) = delete;
  color_table& operator=(const color_table&) = delete;

  [[nodiscard]] color_record& operator[](std::uint32_t place) noexcept { return records_[place]; }
  [[nodiscard]] std::uint32_t place_of(const color_record& r) const noexcept {
    return static_cast<std::uint32_t>(&r - records_);
  }
  [[nodiscard]] std::uint32_t places() const noexcept { return places_; }

  /// At the end: makes a record an unused one, for the next owner of the memory. False if so many
  /// were used that the memory is not kept.
  [[nodiscard]] bool clear(color_record& r) noexcept {
    range_.clear(&r, sizeof r);
    return range_.bytes_held() <= detail::spare_bytes_max;
  }
  /// At the end: declares that each record that was used has been cleared.
  void keep_cleared() noexcept { range_.keep_cleared(); }

 private:
  std::uint32_t places_;
  detail::kept_range range_;
  color_record* records_ = nullptr;
};

}  // namespace heddle
