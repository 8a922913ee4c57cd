// SPDX-License-Identifier: MIT
// The process's list of spare ranges. Its lock is only ever tried: a thread that finds it taken
// maps or unmaps as if there were no list. So the child of a fork() that came while another thread
// held the lock works as well, without a list.
#include "heddle/base/detail/kept_range.hh"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "heddle/base/sanitizer.hh"

#if HEDDLE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace heddle::detail {

/// The beginning of a part that is to be cleared, in the part itself.
struct kept_range::part {
  part* next;
  std::size_t bytes;
};

/// The ranges, from the oldest to the latest. It is initialized by the compiler and has no
/// destructor, because runtimes may begin before main() and end after it.
class spare_ranges {
 public:
  /// Takes the latest range of these sizes out; false if there is none.
  bool take(kept_range& into, std::size_t bytes, std::size_t guard) noexcept {
    const std::unique_lock held(lock_, std::try_to_lock);
    if (!held) return false;
    for (std::size_t i = count_; i-- > 0;) {
      if (entries_[i].bytes != bytes || entries_[i].guard != guard) continue;
      move_to(into, remove(i));
      ++lent_;
      return true;
    }
    return false;
  }

  /// Puts a range in; false if there is no room for its memory. Afterwards `r` is empty, or a range
  /// that must be unmapped: itself or the oldest.
  bool put(kept_range& r) noexcept {
    const std::unique_lock held(lock_, std::try_to_lock);
    if (!held || closed_) return true;
    const std::size_t bytes_held = r.bytes_held();
    if (bytes_held > spare_bytes_max - held_bytes_) return false;
    std::size_t alike = 0;
    for (std::size_t i = 0; i != count_; ++i)
      alike += entries_[i].bytes == r.bytes_ && entries_[i].guard == r.guard_;
    if (alike == spare_ranges_alike_max) return true;
    entry out{};
    if (count_ == spare_ranges_max) out = remove(0);
    entries_[count_++] = {r.data_, r.bytes_, r.guard_, bytes_held, r.used_, r.parts_};
    held_bytes_ += bytes_held;
    r.data_ = nullptr;
    if (out.data != nullptr) move_to(r, out);
    return true;
  }

  void drop(bool close) noexcept {
    const std::unique_lock held(lock_, std::try_to_lock);
    if (!held) return;
    closed_ = closed_ || close;
    while (count_ != 0) {
      kept_range last;
      move_to(last, remove(count_ - 1));
      last.unmap();
    }
  }

  spare_statistics read() noexcept {
    const std::lock_guard held(lock_);
    return {count_, held_bytes_, lent_};
  }

 private:
  struct entry {
    std::byte* data;
    std::size_t bytes;
    std::size_t guard;
    std::size_t bytes_held;
    decltype(kept_range::used_) used;
    kept_range::part* parts;
  };

  entry remove(std::size_t i) noexcept {
    const entry e = entries_[i];
    std::move(entries_.begin() + i + 1, entries_.begin() + count_, entries_.begin() + i);
    --count_;
    held_bytes_ -= e.bytes_held;
    return e;
  }
  static void move_to(kept_range& r, const entry& e) noexcept {
    r.data_ = e.data;
    r.bytes_ = e.bytes;
    r.guard_ = e.guard;
    r.used_ = e.used;
    r.parts_ = e.parts;
  }

  std::mutex lock_;
  std::array<entry, spare_ranges_max> entries_{};
  std::size_t count_ = 0;
  std::size_t held_bytes_ = 0;
  std::uint64_t lent_ = 0;
  bool closed_ = false;  // at the end of the process
};

namespace {

constinit spare_ranges spare;
static_assert(std::is_trivially_destructible_v<spare_ranges>);

/// Empties the list when the process ends, or when the library is unloaded.
struct spare_closer {
  ~spare_closer() { spare.drop(true); }
};
const spare_closer closer;

std::byte* map(std::size_t bytes, std::size_t guard) noexcept {
  const int access = guard == 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (guard == 0 ? 0 : MAP_STACK);
  void* const at = ::mmap(nullptr, guard + bytes, access, kind, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::byte* const data = static_cast<std::byte*>(at) + guard;
  if (guard != 0 && ::mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    ::munmap(at, guard + bytes);
    errno = error;
    return nullptr;
  }
  // No huge pages: they would commit memory that is not used.
  ::madvise(data, bytes, MADV_NOHUGEPAGE);
  return data;
}

}  // namespace

kept_range::kept_range(std::size_t bytes, std::size_t guard) noexcept {
  if (spare.take(*this, bytes, guard)) {
    unpoison();
    clear_parts();
    used_ = {};
    return;
  }
  data_ = map(bytes, guard);
  if (data_ == nullptr) {  // perhaps the spare ranges have all addresses that a limit allows
    spare.drop(false);
    data_ = map(bytes, guard);
  }
  bytes_ = bytes;
  guard_ = guard;
}

kept_range::kept_range(kept_range&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      guard_(other.guard_),
      used_(other.used_),
      parts_(std::exchange(other.parts_, nullptr)),
      cleared_(other.cleared_),
      stale_(other.stale_) {}

kept_range::~kept_range() {
  if (data_ == nullptr) return;
  if (!cleared_ || bytes_held() > spare_bytes_max) give_back_all();
  if (!stale_) {
    poison();
    if (!spare.put(*this)) {
      give_back_all();
      if (!stale_) spare.put(*this);
    }
  }
  unmap();
}

std::size_t kept_range::bytes_held() const noexcept {
  std::size_t bytes = 0;
  for (const window_use& u : used_)
    bytes += std::min(u.pages, (u.end - u.begin) / page_bytes + 2) * page_bytes;
  return bytes;
}

void kept_range::clear(void* at, std::size_t bytes, std::size_t window) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  window_use& u = used_[window];
  u.begin = u.pages == 0 ? begin : std::min(u.begin, begin);
  u.end = std::max(u.end, begin + bytes);
  u.pages += (begin % page_bytes + bytes + page_bytes - 1) / page_bytes;
#if HEDDLE_ASAN
  ASAN_UNPOISON_MEMORY_REGION(at, bytes);
#endif
  auto* const first = static_cast<std::byte*>(at);
  std::size_t before = -begin % alignof(part);  // bytes that are cleared at once: there is no link
  if (before + sizeof(part) > bytes) before = bytes;
  std::memset(first, 0, before);
  if (before != bytes) parts_ = new (first + before) part{parts_, bytes - before};
}

void kept_range::clear_parts() noexcept {
  while (parts_ != nullptr) {
    part* const p = std::exchange(parts_, parts_->next);
    std::memset(static_cast<void*>(p), 0, p->bytes);
  }
}

void kept_range::give_back(void* at, std::size_t bytes) noexcept {
#if HEDDLE_ASAN
  ASAN_UNPOISON_MEMORY_REGION(at, bytes);
#endif
  // The kernel refuses that for locked memory: mlockall(2).
  if (::madvise(at, bytes, MADV_DONTNEED) != 0) stale_ = true;
}

/// Memory goes back as a whole. Afterwards the used parts are not known, whose use a build with
/// ASan must refuse; there the range is unmapped instead.
void kept_range::give_back_all() noexcept {
  if (HEDDLE_ASAN) {
    stale_ = true;
  } else {
    give_back(data_, bytes_);
    used_ = {};
    parts_ = nullptr;
  }
}

void kept_range::poison() const noexcept {
#if HEDDLE_ASAN
  for (const window_use& u : used_)
    ASAN_POISON_MEMORY_REGION(reinterpret_cast<void*>(u.begin), u.end - u.begin);
#endif
}

void kept_range::unpoison() const noexcept {
#if HEDDLE_ASAN
  for (const window_use& u : used_)
    ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(u.begin), u.end - u.begin);
#endif
}

void kept_range::unmap() noexcept {
  if (data_ == nullptr) return;
  unpoison();  // the addresses may serve something else later
  ::munmap(std::exchange(data_, nullptr) - guard_, guard_ + bytes_);
}

spare_statistics read_spare_ranges() noexcept { return spare.read(); }
void drop_spare_ranges() noexcept { spare.drop(false); }

}  // namespace heddle::detail
