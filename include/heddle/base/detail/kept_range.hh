// SPDX-License-Identifier: MIT
// Ranges of addresses from the kernel that the process keeps for their next owner. A runtime needs
// some: cells of frames, the table of colors, stacks of fibers. Mapping a range, touching its pages
// for the first time and unmapping it costs more than a small program runs; a test that makes
// thousands of runtimes then waits for the kernel most of the time. So a range whose owner ends
// goes to the process's list of spare ranges, and the next owner gets it as if it were new: all
// zeros. It is cleared when it is taken, so the last owner of a process pays nothing.
//
//   kept_range r(bytes);            // mapped, or from the list
//   ... use r.data() ...
//   r.clear(r.data(), used);        // for each part that may have been written
//   r.keep_cleared();               // else its end clears the whole range by the kernel
//
// While a range is in the list, a build with ASan refuses every use of the parts that its owner
// cleared: a pointer into a runtime that has ended is still found.
//
// For the library itself, not for programs: it may change in any version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::detail {

inline constexpr std::size_t page_bytes = 4096;

// The list's bounds.
/// The memory that all spare ranges hold together; the memory of a range that does not fit goes
/// back to the kernel. A small simulated run leaves 0.1 MiB, so this is enough for 32 threads with
/// a runtime each, and little for a process that no longer has a runtime.
inline constexpr std::size_t spare_bytes_max = std::size_t{4} << 20;
/// The ranges of one size: enough for 32 runtimes that end together. A further one is unmapped.
inline constexpr std::size_t spare_ranges_alike_max = 32;
/// The ranges of all sizes, which are searched one by one; for a further one the oldest is
/// unmapped.
inline constexpr std::size_t spare_ranges_max = 64;

/// Thread: one at a time. Owns: the range.
/// Fails: if the kernel has no more addresses, data() is null and errno tells why.
class kept_range {
 public:
  /// An empty range.
  kept_range() noexcept = default;
  /// `bytes` of zeros that can be written, and before them `guard` bytes that cannot be accessed,
  /// both in whole pages. Pages are committed one by one, as they are touched.
  explicit kept_range(std::size_t bytes, std::size_t guard = 0) noexcept;
  kept_range(kept_range&& other) noexcept;
  kept_range& operator=(kept_range&&) = delete;
  /// Puts the range into the list. Unless keep_cleared() was called, its memory goes back to the
  /// kernel before.
  ~kept_range();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t guard() const noexcept { return guard_; }

  /// Lets a part, which must not be used any more, keep its memory, and writes zeros to it when the
  /// range is taken again. For parts of some pages: about ten times as fast as giving the memory
  /// back and getting it again. `window` names one of the range's windows: the parts of one should
  /// lie close to each other. No part may overlap another.
  void clear(void* at, std::size_t bytes, std::size_t window = 0) noexcept;
  /// Gives the memory of a part, in whole pages, back to the kernel: it is zero at its next use.
  void give_back(void* at, std::size_t bytes) noexcept;
  /// Declares that every part that was written has been cleared or given back.
  void keep_cleared() noexcept { cleared_ = true; }
  /// The memory of the parts that were cleared. Clearing more than spare_bytes_max is in vain.
  [[nodiscard]] std::size_t bytes_held() const noexcept;
  /// Leaves the range mapped for good, because something outside still points into it.
  void abandon() noexcept { data_ = nullptr; }

  static constexpr std::size_t windows = 4;

 private:
  friend class spare_ranges;
  struct window_use {
    std::uintptr_t begin = 0;  ///< the first byte of all parts
    std::uintptr_t end = 0;    ///< the byte after the last one
    std::size_t pages = 0;     ///< pages of all parts; a page counts for each part in it
  };
  void give_back_all() noexcept;
  void clear_parts() noexcept;
  void poison() const noexcept;
  void unpoison() const noexcept;
  void unmap() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t guard_ = 0;
  std::array<window_use, windows> used_{};
  struct part;
  part* parts_ = nullptr;  ///< the parts to clear, linked in their own first bytes
  bool cleared_ = false;   ///< keep_cleared() was called
  bool stale_ = false;     ///< the kernel did not take memory back
};

struct spare_statistics {
  std::size_t ranges = 0;
  std::size_t bytes = 0;   ///< the memory that they hold
  std::uint64_t lent = 0;  ///< how often a range came from the list
};
/// Thread: any.
[[nodiscard]] spare_statistics read_spare_ranges() noexcept;
/// Gives all spare ranges back to the kernel, as the end of the process does. Thread: any.
void drop_spare_ranges() noexcept;

}  // namespace heddle::detail
