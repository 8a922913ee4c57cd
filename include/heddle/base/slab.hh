// SPDX-License-Identifier: MIT
// Memory for frames, events and contexts. A `region` reserves one large range of addresses; each
// worker's `slabs` divides it into 64 KiB chunks of equal cells, with a free list for each size.
// Allocating or freeing takes a few instructions, and cells have no header. Chunks are aligned, so
// the cell around an address is found by arithmetic; this is how an event knows the frame that its
// slot is in. Contexts are in the region's first 4 GiB, which start at a multiple of 4 GiB, so 32
// bits identify a context.
//
// Sizes: cells are multiples of 8 bytes up to 48 and of 16 up to 2 KiB, then powers of two up to
// 32 KiB; larger cells take whole chunks. A cell is aligned to the largest power of two that
// divides the size that was asked for, up to slab_aligned_max (whole chunks: up to 32 KiB). This
// suits every type of that size, and GCC's frames with variables of such types, because their sizes
// are multiples of the alignment. Cells are made page by page, so that a small program touches few
// pages. The region keeps memory until it ends; then its addresses wait for the next region
// (detail/kept_range.hh). Thread: one worker; a cell freed on another worker is sent back to
// its owner (release_elsewhere).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "heddle/base/compiler.hh"
#include "heddle/base/detail/kept_range.hh"
#include "heddle/base/error.hh"
#include "heddle/base/sanitizer.hh"

namespace heddle {

inline constexpr std::size_t slab_chunk_bytes = 64 * 1024;
inline constexpr std::size_t slab_small_max = 2048;
inline constexpr std::size_t slab_large_max = 32 * 1024;
inline constexpr std::size_t slab_aligned_max = 512;

class slabs;

/// A range of addresses; the kernel commits memory when it is first touched.
class region {
 public:
  /// Reserves `bytes` for cells and another 4 GiB for contexts. Throws std::system_error.
  explicit region(std::size_t bytes);
  /// An empty region.
  region() noexcept = default;
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base_ < bytes_;
  }
  /// A multiple of 4 GiB; contexts are in the 4 GiB that start here.
  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Takes `count` adjacent chunks, for cells (low = false) or contexts (low = true); null if there
  /// is no room.
  [[nodiscard]] void* take_chunks(std::size_t count, bool low, bool urgent = false) noexcept;
  /// Makes the reserved last chunks available, because the end of a program needs a few cells
  /// itself.
  void open_reserve() noexcept { reserve_open_.store(true, std::memory_order_relaxed); }

  /// The first chunk of the cell that holds `address`, which must be in a chunk that was taken.
  [[nodiscard]] void* head_chunk(const void* address) const noexcept {
    const std::uintptr_t index =
        (reinterpret_cast<std::uintptr_t>(address) - base_) / slab_chunk_bytes;
    return reinterpret_cast<void*>(base_ + heads_[index] * slab_chunk_bytes);
  }

  /// Keeps the memory mapped after the region's end, because something outside still points into
  /// it. The slabs are gone, and cells that are freed from now on are ignored.
  void abandon() noexcept;
  [[nodiscard]] std::size_t chunks_taken() const noexcept { return chunks_taken_; }

 private:
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  std::atomic<std::uintptr_t> low_next_{0};
  std::atomic<std::uintptr_t> high_next_{0};
  std::atomic<std::size_t> chunks_taken_{0};
  std::atomic<bool> reserve_open_{false};
  friend class slabs;
  std::atomic<std::int64_t> urgent_left_{-1};  // for tests: see slabs::refuse_urgent
  [[nodiscard]] bool clear_chunks(std::uintptr_t from, std::uintptr_t to,
                                  std::size_t part) noexcept;
  std::uint32_t* heads_ = nullptr;  // for each chunk: the index of the first chunk of its cell
  detail::kept_range range_;        // all of it, with room to align its base, and heads_ at its end
};

/// The memory allocator of one worker.
class slabs {
 public:
  explicit slabs(region& r) noexcept : region_(r) {}
  ~slabs() = default;
  slabs(const slabs&) = delete;
  slabs& operator=(const slabs&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes) {
    if (bytes > slab_small_max) [[unlikely]] {
      void* const large = allocate_large(bytes);
      if (large == nullptr) no_room();
      return large;
    }
    const std::size_t index = class_of(bytes);
    cell* c = free_[index];
    if (c == nullptr) [[unlikely]] {
      c = refill(index);
      if (c == nullptr) no_room();
    }
    unpoison(c, index * 8);
    free_[index] = c->next;
    ++live_;
    return c;
  }

  /// Like allocate(), but returns null if there is no room.
  [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept;
  /// As try_allocate(), for small records that must not fail: uses the region's reserve if all else
  /// is full.
  [[nodiscard]] void* try_allocate_urgent(std::size_t bytes) noexcept;
  /// For tests: after the next `left` calls of try_allocate_urgent(), by any worker, one finds no
  /// room. A negative number switches that off.
  void refuse_urgent(std::int64_t left) noexcept { region_.urgent_left_.store(left); }
  /// As try_allocate_urgent(), but ends the program through the assertion hook if even the reserve
  /// is full.
  [[nodiscard]] void* allocate_urgent(std::size_t bytes) noexcept;

  /// Frees a cell; `bytes` is the size that allocate() was given. The cell may belong to another
  /// worker's slabs.
  void release(void* address, std::size_t bytes) noexcept {
    if (bytes > slab_small_max || owner_of(address) != this) [[unlikely]] {
      release_slow(address, bytes);
      return;
    }
    put(static_cast<cell*>(address), class_of(bytes));
  }
  /// As release(), for callers that store a cell's size as `units`, which units_of() gave for the
  /// size that allocate() was given. So nothing is computed here.
  void release_units(void* address, std::size_t units) noexcept {
    if (units > slab_small_max / 8 || owner_of(address) != this) [[unlikely]] {
      release_slow(address, units * 8);
      return;
    }
    put(static_cast<cell*>(address), units);
  }
  /// Like release_units(), but only if it takes a few stores; false if it would take more.
  [[nodiscard]] bool try_release_units(void* address, std::size_t units) noexcept {
    if (units > slab_small_max / 8 || owner_of(address) != this) [[unlikely]]
      return false;
    put(static_cast<cell*>(address), units);
    return true;
  }
  [[nodiscard]] static constexpr std::size_t units_of(std::size_t bytes) noexcept {
    return class_of(bytes);
  }

  /// A cell in the context window; free it with release_context.
  [[nodiscard]] void* allocate_context();
  void release_context(void* address) noexcept;

  /// The start of the cell that holds `address`; null outside of the region. The cell must be live.
  [[nodiscard]] void* cell_of(const void* address) noexcept;
  /// The whole cell that holds `address`; empty outside of the region.
  [[nodiscard]] std::span<const std::byte> cell_around(const void* address) noexcept {
    const void* const begin = cell_of(address);
    return {static_cast<const std::byte*>(begin), begin == nullptr ? 0 : found_bytes_};
  }
  /// Whether two addresses are in one cell of the region. It remembers the last cell that it found:
  /// cells never change their bounds, so repeated questions about one frame take two comparisons.
  [[nodiscard]] bool same_cell(const void* a, const void* b) noexcept {
    const auto x = reinterpret_cast<std::uintptr_t>(a);
    const auto y = reinterpret_cast<std::uintptr_t>(b);
    if (x - found_begin_ >= found_bytes_ && !find_cell(a)) return false;
    return y - found_begin_ < found_bytes_;
  }

  /// Whether the region of this cell was abandoned, so that the cell has outlived its runtime.
  [[nodiscard]] static bool outlived(const void* cell) noexcept {
    return owner_of(cell) == nullptr;
  }

  /// Frees a cell from a thread without slabs or with other slabs; the owner takes it back later.
  static void release_elsewhere(void* address, std::size_t bytes) noexcept;

  [[nodiscard]] const region& home() const noexcept { return region_; }
  /// The number of cells in use; cells in the list of remote frees still count.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  /// Takes back cells that other threads freed, and sends cells of other workers back. Called once
  /// a turn, and before live() is used.
  void collect_remote() noexcept;

  static constexpr std::size_t context_bytes = 192;

 private:
  struct cell {
    cell* next;
    std::size_t bytes;  // valid only while on the remote list
  };
  /// At the start of each chunk; cells begin `first` bytes after it.
  struct chunk {
    slabs* owner;
    std::uint32_t cell_bytes;
    std::uint32_t reciprocal;   // ceil(2^32 / cell_bytes): avoids a division by cell_bytes
    std::uint32_t chunk_count;  // > 1 for a cell of several chunks
    std::uint32_t first;
    std::uint32_t made;  // the end of the cells that were made so far
  };
  friend class region;  // the region clears chunks
  static constexpr std::size_t small_classes = slab_small_max / 8 + 1;
  static constexpr std::size_t large_classes = 4;  // 4, 8, 16, 32 KiB

  /// A cell's size in units of 8 bytes. Compilers align a coroutine frame to 16 if a variable in it
  /// needs that. Such a variable is behind the promise, so the frame is larger than 48 bytes.
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t units = (bytes + 7) / 8;
    return units <= 6 ? units : (units + 1) & ~std::size_t{1};
  }
  /// The header of a small cell, which is in one chunk.
  [[nodiscard]] static chunk* chunk_of(const void* address) noexcept {
    return reinterpret_cast<chunk*>(reinterpret_cast<std::uintptr_t>(address) &
                                    ~(slab_chunk_bytes - 1));
  }
  [[nodiscard]] static slabs* owner_of(const void* address) noexcept {
    return chunk_of(address)->owner;
  }
  void put(cell* c, std::size_t index) noexcept {
    c->next = free_[index];
    free_[index] = c;
    poison(c, index * 8);
    --live_;
  }
  /// Takes chunks for this size, and returns a cell of them. Null if there is no room.
  [[nodiscard]] HEDDLE_RARE cell* refill(std::size_t index) noexcept;
  /// Makes some cells in `open`, the latest chunk of their size, or in a new chunk.
  [[nodiscard]] cell* make_cells(chunk*& open, std::size_t cell_bytes, bool low = false,
                                 bool urgent = false) noexcept;
  [[nodiscard]] chunk* begin_chunk(void* memory, std::size_t cell_bytes) noexcept;
  [[nodiscard]] std::size_t place_first(std::size_t cell_bytes) noexcept;
  [[nodiscard]] HEDDLE_RARE void* allocate_large(std::size_t bytes) noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] static void no_room();
  HEDDLE_RARE void release_slow(void* address, std::size_t bytes) noexcept;
  void send_home(slabs& owner, void* address, std::size_t bytes) noexcept;
  void flush_away() noexcept;
  void take_remote(cell* first, cell* last) noexcept;
  HEDDLE_RARE bool find_cell(const void* address) noexcept;

  // Every library has these two, so that a program with ASan links. Without ASan in the library
  // they do nothing, because its own code hands out cells without unpoisoning them.
  static void poison_cell(void* address, std::size_t bytes) noexcept;
  static void unpoison_cell(void* address, std::size_t bytes) noexcept;
#if HEDDLE_ASAN
  static void poison(void* address, std::size_t bytes) noexcept { poison_cell(address, bytes); }
  static void unpoison(void* address, std::size_t bytes) noexcept { unpoison_cell(address, bytes); }
#else
  static void poison(void*, std::size_t) noexcept {}
  static void unpoison(void*, std::size_t) noexcept {}
#endif

  [[nodiscard]] void* take_urgent(std::size_t bytes) noexcept;
  region& region_;
  std::size_t live_ = 0;
  std::uintptr_t found_begin_ = 0;  // the last result of same_cell()
  std::uintptr_t found_bytes_ = 0;
  std::array<cell*, small_classes> free_{};
  std::array<cell*, large_classes> free_large_{};
  cell* free_context_ = nullptr;
  struct span {
    span* next;
    std::size_t count;
  };
  span* free_spans_ = nullptr;
  // The latest chunk of each size: it may have room for more cells.
  std::array<chunk*, small_classes> open_{};
  std::array<chunk*, large_classes> open_large_{};
  chunk* open_context_ = nullptr;
  // Cells of one other worker that were freed here; they are sent back together.
  static constexpr std::uint32_t away_max = 64;
  static constexpr std::size_t context_mark = ~std::size_t{0};  // in cell::bytes: a freed context
  cell* away_first_ = nullptr;
  cell* away_last_ = nullptr;
  slabs* away_owner_ = nullptr;
  std::uint32_t away_count_ = 0;
  std::uint32_t carved_ = 0;       // chunks carved so far, up to spread_chunks
  std::uint64_t first_lines_ = 0;  // a bit for each line of a page where their cells begin
  alignas(64) std::atomic<cell*> remote_{nullptr};
};

}  // namespace heddle
