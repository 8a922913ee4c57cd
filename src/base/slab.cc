// SPDX-License-Identifier: MIT
// The cold paths of the allocator: chunks from the region, and cells from chunks.
#include "heddle/base/slab.hh"

#include <algorithm>
#include <bit>
#include <cerrno>

#if HEDDLE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {
namespace {

constexpr std::uintptr_t window = std::uintptr_t{1} << 32;  // the context window: 4 GiB
constexpr std::uint32_t header_bytes = 64;
using detail::page_bytes;

/// The offset of the first cell in the n-th chunk. Chunks are at multiples of 64 KiB. If all had
/// the same offset, the most used cells would share sets of the cache, and a load from one would
/// wait for stores into others, because processors compare the low twelve bits of addresses first
/// (slab coloring: Bonwick 1994, section 4). So the offsets are spread over a page, after the part
/// of it where workers keep the data of every frame (runtime::seat). Only the first chunks need
/// this: a program with more chunks uses cells at all offsets.
constexpr std::uint32_t line_bytes = 64;
constexpr std::uint32_t spread_chunks = 24;
constexpr std::uint32_t worker_lines = 12;
constexpr std::uint32_t cell_lines = 4096 / line_bytes - worker_lines;
std::uint32_t first_line(std::uint32_t n) noexcept {
  constexpr std::uint32_t step = 33;  // keeps neighbors far apart for any number of chunks
  return worker_lines + n * step % cell_lines;
}

constexpr std::size_t reserve_bytes = 16 * slab_chunk_bytes;

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

/// The bytes of the table that finds the first chunk of a cell, for a region of this size.
std::size_t heads_bytes(std::size_t region_bytes) {
  return round_up(region_bytes / slab_chunk_bytes * sizeof(std::uint32_t), page_bytes);
}

/// The alignment of cells of this size: see the head of slab.hh.
std::size_t alignment_of(std::size_t bytes) noexcept {
  return std::min(bytes & -bytes, bytes > slab_large_max ? slab_chunk_bytes / 2 : slab_aligned_max);
}
}  // namespace

region::region(std::size_t bytes)
    : bytes_(window + round_up(bytes, slab_chunk_bytes) + reserve_bytes),
      range_(window + bytes_ + heads_bytes(bytes_)) {
  if (range_.data() == nullptr)
    throw failure({errno, std::generic_category()},
                  "cannot reserve address space for frames; lower options::memory_bytes or raise "
                  "the limit on virtual memory (ulimit -v)");
  base_ = round_up(reinterpret_cast<std::uintptr_t>(range_.data()), window);
  heads_ = reinterpret_cast<std::uint32_t*>(base_ + bytes_);
  low_next_ = base_ + slab_chunk_bytes;  // because the low 32 bits 0 mean "no context"
  high_next_ = base_ + window;
}

region::~region() {
  if (range_.data() == nullptr) return;
  if (clear_chunks(base_ + slab_chunk_bytes, low_next_, 0) &&
      clear_chunks(base_ + window, high_next_, 1))
    range_.keep_cleared();
}

/// Clears the chunks from one address to another, and their entries in heads_, for the range's next
/// owner. False if they are too many to keep, or there are cells of several chunks: then the kernel
/// clears the range in less time.
bool region::clear_chunks(std::uintptr_t from, std::uintptr_t to, std::size_t part) noexcept {
  for (std::uintptr_t at = from; at < to; at += slab_chunk_bytes) {
    auto* const c = reinterpret_cast<slabs::chunk*>(at);
    if (c->chunk_count != 1 || range_.bytes_held() > detail::spare_bytes_max) return false;
    range_.clear(c, c->made, part);
  }
  const std::size_t first = (from - base_) / slab_chunk_bytes;
  const std::size_t count = (to - from) / slab_chunk_bytes;
  if (count != 0) range_.clear(heads_ + first, count * sizeof(std::uint32_t), part + 2);
  return true;
}

void region::abandon() noexcept {
  range_.abandon();
  const auto disown = [this](std::uintptr_t from, std::uintptr_t to) {
    for (std::uintptr_t at = from; at < to; at += slab_chunk_bytes) {
      auto* const chunk = reinterpret_cast<void*>(at);
      // The owner is the first word of each chunk that begins a cell.
      if (head_chunk(chunk) == chunk) *static_cast<slabs**>(chunk) = nullptr;
    }
  };
  disown(base_ + slab_chunk_bytes, low_next_);
  disown(base_ + window, high_next_);
}

void* region::take_chunks(std::size_t count, bool low, bool urgent) noexcept {
  if (base_ == 0) return nullptr;
  std::atomic<std::uintptr_t>& next = low ? low_next_ : high_next_;
  const bool open = urgent || reserve_open_.load(std::memory_order_relaxed);
  const std::size_t kept = open ? 0 : reserve_bytes;
  const std::uintptr_t end = low ? base_ + window : base_ + bytes_ - kept;
  const std::uintptr_t at = next.fetch_add(count * slab_chunk_bytes, std::memory_order_relaxed);
  if (at + count * slab_chunk_bytes > end) {
    next.fetch_sub(count * slab_chunk_bytes, std::memory_order_relaxed);
    return nullptr;
  }
  const auto head = static_cast<std::uint32_t>((at - base_) / slab_chunk_bytes);
  for (std::size_t i = 0; i < count; ++i) heads_[head + i] = head;
  chunks_taken_.fetch_add(count, std::memory_order_relaxed);
  return reinterpret_cast<void*>(at);
}

void slabs::no_room() {
  throw failure(std::make_error_code(std::errc::not_enough_memory),
                "no room left for frames; raise options::memory_bytes");
}

void* slabs::try_allocate(std::size_t bytes) noexcept {
  if (bytes > slab_small_max) return allocate_large(bytes);
  const std::size_t index = class_of(bytes);
  if (free_[index] == nullptr && refill(index) == nullptr) return nullptr;
  cell* const c = free_[index];
  unpoison(c, index * 8);
  free_[index] = c->next;
  ++live_;
  return c;
}

void* slabs::try_allocate_urgent(std::size_t bytes) noexcept {
  if (region_.urgent_left_.load(std::memory_order_relaxed) >= 0) [[unlikely]] {
    if (region_.urgent_left_.fetch_sub(1) == 0) return nullptr;
  }
  return take_urgent(bytes);
}

void* slabs::take_urgent(std::size_t bytes) noexcept {
  if (void* const c = try_allocate(bytes)) return c;
  const std::size_t index = class_of(bytes);
  free_[index] = make_cells(open_[index], std::max(index * 8, sizeof(cell)), false, true);
  return try_allocate(bytes);
}

void* slabs::allocate_urgent(std::size_t bytes) noexcept {
  void* const c = take_urgent(bytes);
  HEDDLE_ASSERT(c != nullptr,
                "no room is left for messages between colors; raise options::memory_bytes");
  return c;
}

std::size_t slabs::place_first(std::size_t cell_bytes) noexcept {
  const std::size_t alignment = alignment_of(cell_bytes);
  if (carved_ >= spread_chunks) return round_up(header_bytes, alignment);
  constexpr int far_enough = 3;  // lines between two first cells
  std::uint32_t best = 0;        // the aligned line that is farthest from those before
  int farthest = -1;
  for (std::uint32_t i = 0; i < cell_lines && farthest < far_enough; ++i) {
    const std::uint32_t line = first_line(carved_ + i);
    if (line * line_bytes % alignment != 0) continue;
    const std::uint64_t above = first_lines_ >> line, below = first_lines_ << (63 - line);
    const int distance = std::min(std::countr_zero(above), std::countl_zero(below));
    if (distance <= farthest) continue;
    best = line;
    farthest = distance;
  }
  ++carved_;
  first_lines_ |= std::uint64_t{1} << best;
  return best * line_bytes;
}

slabs::chunk* slabs::begin_chunk(void* memory, std::size_t cell_bytes) noexcept {
  auto* header = static_cast<chunk*>(memory);
  header->owner = this;
  header->cell_bytes = static_cast<std::uint32_t>(cell_bytes);
  header->reciprocal =
      static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + cell_bytes - 1) / cell_bytes);
  header->chunk_count = 1;
  header->first = header->made = static_cast<std::uint32_t>(place_first(cell_bytes));
  return header;
}

slabs::cell* slabs::make_cells(chunk*& open, std::size_t cell_bytes, bool low,
                               bool urgent) noexcept {
  if (open == nullptr || open->made + cell_bytes > slab_chunk_bytes) {
    void* const memory = region_.take_chunks(1, low, urgent);
    if (memory == nullptr) return nullptr;
    open = begin_chunk(memory, cell_bytes);
  }
  // The cells that begin in one page: only that page is written.
  const std::size_t page_end = round_up(open->made + 1, page_bytes);
  const std::size_t end = std::min(page_end - 1, slab_chunk_bytes - cell_bytes);
  char* const begin = reinterpret_cast<char*>(open) + open->made;
  const std::size_t count = (end - open->made) / cell_bytes + 1;
  open->made += static_cast<std::uint32_t>(count * cell_bytes);
  cell* first = nullptr;
  for (std::size_t i = count; i-- > 0;) {  // so that the list ascends in memory
    auto* c = reinterpret_cast<cell*>(begin + i * cell_bytes);
    c->next = first;
    poison(c, cell_bytes);
    first = c;
  }
  return first;
}

slabs::cell* slabs::refill(std::size_t index) noexcept {
  collect_remote();
  // A cell must be large enough for its entry in the list of remote frees.
  const std::size_t bytes = std::max(index * 8, sizeof(cell));
  if (free_[index] == nullptr) free_[index] = make_cells(open_[index], bytes);
  return free_[index];
}

void* slabs::allocate_large(std::size_t bytes) noexcept {
  if (bytes <= slab_large_max) {
    const std::size_t size = std::bit_ceil(bytes);
    const auto index = static_cast<std::size_t>(std::countr_zero(size)) - 12;  // 4 KiB is class 0
    cell*& head = free_large_[index];
    // Two 32 KiB cells and the header do not fit in a chunk, so this class has one cell a chunk.
    if (head == nullptr) head = make_cells(open_large_[index], size);
    cell* c = head;
    if (c == nullptr) return nullptr;
    unpoison(c, size);
    head = c->next;
    ++live_;
    return c;
  }
  const std::size_t first = std::max<std::size_t>(header_bytes, alignment_of(bytes));
  const std::size_t count = (bytes + first + slab_chunk_bytes - 1) / slab_chunk_bytes;
  for (span** at = &free_spans_; *at != nullptr; at = &(*at)->next) {
    span* found = *at;
    if (found->count != count || chunk_of(found)->first != first) continue;
    *at = found->next;
    unpoison(found, bytes);
    ++live_;
    return found;
  }
  void* memory = region_.take_chunks(count, false);
  if (memory == nullptr) return nullptr;
  ++live_;
  auto* header = static_cast<chunk*>(memory);
  // A span has one cell. With reciprocal 1, find_cell() gives index 0 for each offset below 2^32.
  *header = {this,
             static_cast<std::uint32_t>(count * slab_chunk_bytes - first),
             1,
             static_cast<std::uint32_t>(count),
             static_cast<std::uint32_t>(first),
             static_cast<std::uint32_t>(first)};
  return static_cast<char*>(memory) + first;
}

void slabs::release_slow(void* address, std::size_t bytes) noexcept {
  chunk* header = chunk_of(address);  // the first chunk's header: a span's address is in that chunk
  if (header->owner != this) {
    if (header->owner != nullptr) send_home(*header->owner, address, bytes);
    return;
  }
  --live_;
  if (bytes <= slab_large_max) {
    const std::size_t size = std::bit_ceil(bytes);
    auto* c = static_cast<cell*>(address);
    cell*& head = free_large_[static_cast<std::size_t>(std::countr_zero(size)) - 12];
    c->next = head;
    head = c;
    poison(c, size);
    return;
  }
  auto* s = static_cast<span*>(address);
  *s = {free_spans_, header->chunk_count};
  free_spans_ = s;
  poison(static_cast<char*>(address) + sizeof(span), bytes - sizeof(span));
}

void slabs::release_elsewhere(void* address, std::size_t bytes) noexcept {
  // A span's first chunk also holds its address, so the mask finds the header of any cell.
  slabs* owner = owner_of(address);
  if (owner == nullptr) return;  // the runtime of the cell has ended
  auto* c = static_cast<cell*>(address);
  unpoison(c, sizeof(cell));
  c->bytes = bytes;
  owner->take_remote(c, c);
}

void slabs::take_remote(cell* first, cell* last) noexcept {
  last->next = remote_.load(std::memory_order_relaxed);
  // release: pairs with the acquire in collect_remote()
  while (!remote_.compare_exchange_weak(last->next, first, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

void slabs::send_home(slabs& owner, void* address, std::size_t bytes) noexcept {
  if (away_owner_ != &owner || away_count_ == away_max) flush_away();
  auto* const c = static_cast<cell*>(address);
  unpoison(c, sizeof(cell));  // a cell may be larger than the requested size
  c->bytes = bytes;
  c->next = away_first_;
  if (away_first_ == nullptr) away_last_ = c;
  away_first_ = c;
  away_owner_ = &owner;
  ++away_count_;
}

void slabs::flush_away() noexcept {
  if (away_first_ == nullptr) return;
  away_owner_->take_remote(away_first_, away_last_);
  away_first_ = nullptr;
  away_count_ = 0;
}

void slabs::collect_remote() noexcept {
  flush_away();
  if (remote_.load(std::memory_order_relaxed) == nullptr) return;
  // acquire: pairs with the release in take_remote()
  cell* c = remote_.exchange(nullptr, std::memory_order_acquire);
  while (c != nullptr) {
    cell* next = c->next;
    if (c->bytes == context_mark) {
      release_context(c);
    } else {
      release(c, c->bytes);
    }
    c = next;
  }
}

void* slabs::allocate_context() {
  if (free_context_ == nullptr) free_context_ = make_cells(open_context_, context_bytes, true);
  cell* c = free_context_;
  if (c == nullptr) no_room();
  unpoison(c, context_bytes);
  free_context_ = c->next;
  ++live_;
  return c;
}

void slabs::release_context(void* address) noexcept {
  slabs* const owner = owner_of(address);
  if (owner != this) [[unlikely]] {
    if (owner != nullptr) send_home(*owner, address, context_mark);
    return;
  }
  auto* c = static_cast<cell*>(address);
  c->next = free_context_;
  free_context_ = c;
  poison(c, context_bytes);
  --live_;
}

bool slabs::find_cell(const void* address) noexcept {
  if (!region_.contains(address)) return false;
  auto* header = static_cast<chunk*>(region_.head_chunk(address));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(header) + header->first;
  found_begin_ = begin;
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(address) - begin;
  found_begin_ += ((offset * header->reciprocal) >> 32) * header->cell_bytes;
  found_bytes_ = header->cell_bytes;
  return true;
}

void* slabs::cell_of(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - found_begin_ >= found_bytes_ && !find_cell(address)) return nullptr;
  return reinterpret_cast<void*>(found_begin_);
}

#if HEDDLE_ASAN
void slabs::poison_cell(void* address, std::size_t bytes) noexcept {
  ASAN_POISON_MEMORY_REGION(address, bytes);
}
void slabs::unpoison_cell(void* address, std::size_t bytes) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(address, bytes);
}
#else
void slabs::poison_cell(void*, std::size_t) noexcept {}
void slabs::unpoison_cell(void*, std::size_t) noexcept {}
#endif

}  // namespace heddle
