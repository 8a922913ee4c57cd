// SPDX-License-Identifier: MIT
// Memory for frames, events and contexts. A `region` reserves one large range of addresses; `slabs`
// (one a worker) cuts it into 64 KiB chunks of equal cells, with one free list a size. Allocating
// or freeing is a few instructions and adds no header to a cell. Because chunks are aligned, the
// cell that holds an address is found by arithmetic: so an event knows in whose frame its slot
// lies. Contexts live in the region's first 4 GiB, which start at a multiple of 4 GiB: 32 bits name
// one.
//
// Sizes: cells are multiples of 8 bytes up to 48 and of 16 up to 2 KiB (aligned as their size is),
// then
// powers of two up to 32 KiB; larger ones take whole chunks. Memory stays with the region until it
// dies. Thread: one worker; cells freed elsewhere are sent home (release_elsewhere).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "heddle/base/compiler.hh"
#include "heddle/base/error.hh"
#include "heddle/base/sanitizer.hh"

namespace heddle {

inline constexpr std::size_t slab_chunk_bytes = 64 * 1024;
inline constexpr std::size_t slab_small_max = 2048;
inline constexpr std::size_t slab_large_max = 32 * 1024;

class slabs;

/// A range of addresses, committed by the kernel as it is touched.
class region {
 public:
  /// Reserves `bytes` for cells, and 4 GiB more for contexts. Throws std::system_error.
  explicit region(std::size_t bytes);
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base_ < bytes_;
  }
  /// A multiple of 4 GiB; contexts lie in the 4 GiB that start here.
  [[nodiscard]] std::uintptr_t base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Takes `count` chunks in a row, for cells (low = false) or contexts (low = true); null when
  /// there is no room.
  [[nodiscard]] void* take_chunks(std::size_t count, bool low) noexcept;
  /// From now on the last chunks may be taken too: what ends a program needs a few cells itself.
  void open_reserve() noexcept { reserve_open_.store(true, std::memory_order_relaxed); }

  /// The first chunk of the cell that holds `address`, which must lie in a chunk that was taken.
  [[nodiscard]] void* head_chunk(const void* address) const noexcept {
    const std::uintptr_t index =
        (reinterpret_cast<std::uintptr_t>(address) - base_) / slab_chunk_bytes;
    return reinterpret_cast<void*>(base_ + heads_[index] * slab_chunk_bytes);
  }

  /// The memory now stays mapped when the region dies: something outside still points into it;
  /// its slabs are gone, and cells that are freed from now on are forgotten.
  void abandon() noexcept;
  [[nodiscard]] std::size_t chunks_taken() const noexcept { return chunks_taken_; }

 private:
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  std::atomic<std::uintptr_t> low_next_{0};
  std::atomic<std::uintptr_t> high_next_{0};
  std::atomic<std::size_t> chunks_taken_{0};
  std::atomic<bool> reserve_open_{false};
  std::uint32_t* heads_ = nullptr;  // per chunk: the index of the first chunk of its cell
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  bool abandoned_ = false;
};

/// One worker's allocator.
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

  /// `bytes` is what allocate() was given. The cell may come from another worker's slabs.
  void release(void* address, std::size_t bytes) noexcept {
    if (bytes > slab_small_max || owner_of(address) != this) [[unlikely]] {
      release_slow(address, bytes);
      return;
    }
    put(static_cast<cell*>(address), class_of(bytes));
  }
  /// The same for those who keep a cell's size with it: `units` is units_of() what allocate() was
  /// given, so that nothing has to be calculated here.
  void release_units(void* address, std::size_t units) noexcept {
    if (units > slab_small_max / 8 || owner_of(address) != this) [[unlikely]] {
      release_slow(address, units * 8);
      return;
    }
    put(static_cast<cell*>(address), units);
  }
  /// release_units(), but only where that is a few stores; false where it is more.
  [[nodiscard]] bool try_release_units(void* address, std::size_t units) noexcept {
    if (units > slab_small_max / 8 || owner_of(address) != this) [[unlikely]]
      return false;
    put(static_cast<cell*>(address), units);
    return true;
  }
  [[nodiscard]] static constexpr std::size_t units_of(std::size_t bytes) noexcept {
    return class_of(bytes);
  }

  /// A cell in the context window; freed with release_context.
  [[nodiscard]] void* allocate_context();
  void release_context(void* address) noexcept;

  /// The start of the cell that holds `address`, or null outside of the region. The cell must be
  /// live.
  [[nodiscard]] void* cell_of(const void* address) noexcept;
  /// The whole cell that holds `address`; empty outside of the region.
  [[nodiscard]] std::span<const std::byte> cell_around(const void* address) noexcept {
    const void* const begin = cell_of(address);
    return {static_cast<const std::byte*>(begin), begin == nullptr ? 0 : found_bytes_};
  }
  /// Whether two addresses lie in one cell of the region. The cell that was found last is
  /// remembered: cells never change their bounds, so asking about one frame again takes two
  /// comparisons.
  [[nodiscard]] bool same_cell(const void* a, const void* b) noexcept {
    const auto x = reinterpret_cast<std::uintptr_t>(a);
    const auto y = reinterpret_cast<std::uintptr_t>(b);
    if (x - found_begin_ >= found_bytes_ && !find_cell(a)) return false;
    return y - found_begin_ < found_bytes_;
  }

  /// Frees a cell from a thread that has no slabs, or other ones; the owner takes it back later.
  static void release_elsewhere(void* address, std::size_t bytes) noexcept;

  [[nodiscard]] const region& home() const noexcept { return region_; }
  /// Cells in use. Cells that wait in the list of remote frees still count.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  /// Takes back what other threads freed, and sends home what was freed here for them; called once
  /// a turn and before live() is trusted.
  void collect_remote() noexcept;

  static constexpr std::size_t context_bytes = 192;

 private:
  struct cell {
    cell* next;
    std::size_t bytes;  // only while on the remote list
  };
  /// At the start of each chunk; cells begin `first` bytes after it.
  struct chunk {
    slabs* owner;
    std::uint32_t cell_bytes;
    std::uint32_t reciprocal;   // ceil(2^32 / cell_bytes): offset / cell_bytes without a division
    std::uint32_t chunk_count;  // > 1 for a cell of several chunks
    std::uint32_t first;
  };
  static constexpr std::size_t small_classes = slab_small_max / 8 + 1;
  static constexpr std::size_t large_classes = 4;  // 4, 8, 16, 32 KiB

  /// A cell's size in units of 8 bytes. Compilers take a coroutine frame to be aligned to 16 when
  /// something in it is; then it lies behind the promise, and the frame is larger than 48 bytes.
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t units = (bytes + 7) / 8;
    return units <= 6 ? units : (units + 1) & ~std::size_t{1};
  }
  /// The header of a cell that is known to be small, so that it lies in one chunk.
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
  /// Null when there is no room.
  [[nodiscard]] HEDDLE_RARE cell* refill(std::size_t index) noexcept;
  [[nodiscard]] cell* carve(void* memory, std::size_t cell_bytes) noexcept;
  [[nodiscard]] HEDDLE_RARE void* allocate_large(std::size_t bytes) noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] static void no_room();
  HEDDLE_RARE void release_slow(void* address, std::size_t bytes) noexcept;
  void send_home(slabs& owner, void* address, std::size_t bytes) noexcept;
  void flush_away() noexcept;
  void take_remote(cell* first, cell* last) noexcept;
  HEDDLE_RARE bool find_cell(const void* address) noexcept;

#if HEDDLE_ASAN
  static void poison(void* address, std::size_t bytes) noexcept;
  static void unpoison(void* address, std::size_t bytes) noexcept;
#else
  static void poison(void*, std::size_t) noexcept {}
  static void unpoison(void*, std::size_t) noexcept {}
#endif

  region& region_;
  std::size_t live_ = 0;
  std::uintptr_t found_begin_ = 0;  // the cell that same_cell() found last
  std::uintptr_t found_bytes_ = 0;
  std::array<cell*, small_classes> free_{};
  std::array<cell*, large_classes> free_large_{};
  cell* free_context_ = nullptr;
  struct span {
    span* next;
    std::size_t count;
  };
  span* free_spans_ = nullptr;
  // Cells of one other worker that were freed here: they go home together.
  static constexpr std::uint32_t away_max = 64;
  static constexpr std::size_t context_mark = ~std::size_t{0};  // as cell::bytes
  cell* away_first_ = nullptr;
  cell* away_last_ = nullptr;
  slabs* away_owner_ = nullptr;
  std::uint32_t away_count_ = 0;
  std::uint32_t carved_ = 0;  // chunks of cells so far
  alignas(64) std::atomic<cell*> remote_{nullptr};
};

}  // namespace heddle
