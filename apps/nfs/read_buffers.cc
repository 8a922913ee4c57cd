// SPDX-License-Identifier: MIT
// Buffers of READs: sizes are powers of two, so that one fits another READ of about that size.
#include "read_buffers.hh"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

namespace nfs {

read_buffers::read_buffers(std::size_t kept_max) : shelf_(std::make_shared<shelf>(kept_max)) {}

std::size_t read_buffers::kept() const {
  const std::lock_guard turn(shelf_->lock);
  return shelf_->kept;
}

read_buffers::buffer read_buffers::take(std::size_t bytes) {
  buffer made;
  made.capacity_ = bytes;
  if (bytes > small_bytes) {
    made.capacity_ = std::bit_ceil(bytes);
    const std::lock_guard turn(shelf_->lock);
    auto& free = shelf_->free;
    const auto fits = [&](const kept_memory& m) { return m.capacity == made.capacity_; };
    // From the last: its memory is the likeliest to be in the processor's cache.
    if (const auto at = std::find_if(free.rbegin(), free.rend(), fits); at != free.rend()) {
      made.memory_ = std::move(at->memory);
      free.erase(std::next(at).base());
      shelf_->kept -= made.capacity_;
    }
  }
  if (made.memory_ == nullptr)
    made.memory_ = std::make_unique_for_overwrite<std::byte[]>(made.capacity_);
  if (bytes > small_bytes) made.shelf_ = shelf_;
  return made;
}

void read_buffers::buffer::give_back() noexcept {
  std::vector<kept_memory> dropped;  // freed when the lock is not held
  const std::lock_guard turn(shelf_->lock);
  auto& free = shelf_->free;
  if (capacity_ > shelf_->kept_max) return;
  std::size_t count = 0;
  std::size_t kept = shelf_->kept + capacity_;
  // The least recently used make room.
  while (kept > shelf_->kept_max) kept -= free[count++].capacity;
  try {
    dropped.reserve(count);
    free.reserve(free.size() + 1);
  } catch (const std::bad_alloc&) {
    return;
  }
  const auto end = free.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(free.begin(), end, std::back_inserter(dropped));
  free.erase(free.begin(), end);
  free.push_back({std::move(memory_), capacity_});
  shelf_->kept = kept;
}

}  // namespace nfs
