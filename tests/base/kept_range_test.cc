// SPDX-License-Identifier: MIT
// Ranges of addresses that the process keeps for their next owner: the memory of a range is zero
// when it is used again, the list of spare ranges has bounds, and threads and children of fork()
// can use the list.
#include "heddle/base/detail/kept_range.hh"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/base/slab.hh"
#include "support/test.hh"
#include "support/zeros.hh"

#if HEDDLE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace heddle::detail {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t page = page_bytes;

using test::is_zero;
bool is_zero(const kept_range& r) { return is_zero(r.data(), r.bytes()); }

/// Makes a range, fills its first `used` bytes, clears them, and lets it go; gives its address.
std::byte* use(std::size_t bytes, std::size_t used) {
  kept_range r(bytes);
  std::memset(r.data(), 0xa5, used);
  r.clear(r.data(), used);
  r.keep_cleared();
  return r.data();
}

}  // namespace

HEDDLE_TEST(kept_range, "the next owner gets the addresses of the one before, as zeros") {
  drop_spare_ranges();
  std::byte* const before = use(640 * kib, 200 * kib);
  EXPECT_EQ(read_spare_ranges().ranges, 1u);
  EXPECT_EQ(read_spare_ranges().bytes, 200 * kib);
  const std::uint64_t lent = read_spare_ranges().lent;
  {
    const kept_range other(320 * kib);  // of another size
    EXPECT_NE(other.data(), before);
    const kept_range same(640 * kib);
    EXPECT_EQ(same.data(), before);
    EXPECT_TRUE(is_zero(same));
  }
  EXPECT_EQ(read_spare_ranges().lent, lent + 1);
  drop_spare_ranges();
  EXPECT_EQ(read_spare_ranges().ranges, 0u);
  EXPECT_EQ(read_spare_ranges().bytes, 0u);
}

HEDDLE_TEST(kept_range, "parts of any place and size are zeros for the next owner") {
  drop_spare_ranges();
  std::byte* before = nullptr;
  {
    kept_range r(64 * kib);
    before = r.data();
    std::size_t at = 0;
    for (std::size_t bytes = 1; bytes != 60; ++bytes) {
      std::memset(r.data() + at, 0xee, bytes);
      r.clear(r.data() + at, bytes);
      at += bytes + bytes % 3;
    }
    r.keep_cleared();
  }
  const kept_range again(64 * kib);
  ASSERT_EQ(again.data(), before);
  EXPECT_TRUE(is_zero(again));
}

HEDDLE_TEST(kept_range, "what its owner does not clear is cleared by the kernel") {
  drop_spare_ranges();
  {
    kept_range r(640 * kib);
    std::memset(r.data(), 0xa5, r.bytes());
    r.clear(r.data(), page);  // and no word that this is all
  }
  EXPECT_EQ(read_spare_ranges().bytes, 0u);
  EXPECT_TRUE(is_zero(kept_range(640 * kib)));
  {
    kept_range r(640 * kib);
    std::memset(r.data(), 0xa5, r.bytes());
    r.clear(r.data(), 64 * kib);
    r.give_back(r.data() + 64 * kib, r.bytes() - 64 * kib);
    r.keep_cleared();
  }
  EXPECT_EQ(read_spare_ranges().bytes, 64 * kib);
  EXPECT_TRUE(is_zero(kept_range(640 * kib)));
}

HEDDLE_TEST(kept_range, "memory that the kernel does not take back is not kept") {
  if (HEDDLE_TSAN) GTEST_SKIP() << "TSan ignores mlock()";
  drop_spare_ranges();
  {
    kept_range r(64 * kib);
    std::memset(r.data(), 0xa5, r.bytes());
    if (::mlock(r.data(), page) != 0) GTEST_SKIP() << "memory cannot be locked here";
  }
  EXPECT_EQ(read_spare_ranges().ranges, 0u);
}

HEDDLE_TEST(kept_range, "parts in one page count as that page") {
  drop_spare_ranges();
  {
    kept_range r(640 * kib);
    for (std::size_t at = 0; at != 64 * page; at += 256) r.clear(r.data() + at, 256);
    EXPECT_LE(r.bytes_held(), 66 * page);
    EXPECT_GE(r.bytes_held(), 64 * page);
    r.clear(r.data() + 100 * page, 1, 1);
    EXPECT_LE(r.bytes_held(), 67 * page);
  }
}

HEDDLE_TEST(kept_range, "the list's memory and the number of its ranges have bounds") {
  drop_spare_ranges();
  constexpr std::size_t much = spare_bytes_max / 3 * 2;
  {
    std::vector<kept_range> both;
    for (int i = 0; i != 2; ++i) {
      kept_range& r = both.emplace_back(spare_bytes_max * 2);
      r.clear(r.data(), much);
      r.keep_cleared();
    }
  }
  EXPECT_LE(read_spare_ranges().bytes, spare_bytes_max);
  EXPECT_GE(read_spare_ranges().bytes, much);
  drop_spare_ranges();
  use(spare_bytes_max * 2, spare_bytes_max + page);  // too much alone
  EXPECT_EQ(read_spare_ranges().bytes, 0u);

  drop_spare_ranges();
  {
    std::vector<kept_range> alike;
    for (std::size_t i = 0; i != spare_ranges_alike_max + 5; ++i)
      alike.emplace_back(page).keep_cleared();
  }
  EXPECT_EQ(read_spare_ranges().ranges, spare_ranges_alike_max);
  std::byte* latest = nullptr;
  for (std::size_t i = 1; i != 2 * spare_ranges_max; ++i) latest = use(i * 64 * kib, page);
  EXPECT_EQ(read_spare_ranges().ranges, spare_ranges_max);
  EXPECT_EQ(kept_range((2 * spare_ranges_max - 1) * 64 * kib).data(), latest);
  drop_spare_ranges();
}

HEDDLE_TEST(kept_range, "a guard stays before a range that is used again") {
  drop_spare_ranges();
  for (int i = 0; i != 2; ++i) {
    kept_range r(64 * kib, 16 * kib);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], r.data(), 1), 1);
    EXPECT_EQ(::write(ends[1], r.data() - 1, 1), -1);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(::write(ends[1], r.data() - r.guard(), 1), -1);
    ::close(ends[0]);
    ::close(ends[1]);
    r.keep_cleared();
  }
  EXPECT_EQ(read_spare_ranges().ranges, 1u);
  const kept_range plain(64 * kib);  // a range without a guard is another kind
  EXPECT_EQ(read_spare_ranges().ranges, 1u);
}

HEDDLE_TEST(kept_range, "without addresses left, the spare ones go back before it fails") {
  drop_spare_ranges();
  use(640 * kib, page);
  const kept_range none(std::size_t{1} << 60);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(read_spare_ranges().ranges, 0u);
}

HEDDLE_TEST(kept_range, "threads share the list, and each gets zeros that are its own") {
  drop_spare_ranges();
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t != 4; ++t)
      all.emplace_back([&wrong, t] {
        for (int i = 0; i != 500; ++i) {
          kept_range r(64 * kib);
          if (!is_zero(r)) ++wrong;
          std::memset(r.data(), t + 1, 8 * kib);
          std::this_thread::yield();
          if (!std::all_of(r.data(), r.data() + 8 * kib,
                           [t](std::byte b) { return b == std::byte(t + 1); }))
            ++wrong;
          if (i % 3 == 0) continue;  // the kernel clears it
          r.clear(r.data(), 8 * kib);
          r.keep_cleared();
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

HEDDLE_TEST(kept_range, "a child of fork() has a list of its own, also while threads use it") {
  drop_spare_ranges();
  use(640 * kib, 64 * kib);
  std::atomic<bool> over{false};
  const std::jthread busy([&] {
    while (!over) use(320 * kib, page);
  });
  for (int i = 0; i != 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      kept_range r(640 * kib);
      const bool zero = r.data() != nullptr && is_zero(r);
      std::memset(r.data(), 0x5a, r.bytes());
      use(640 * kib, page);
      ::_exit(zero ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  over = true;
  EXPECT_TRUE(is_zero(kept_range(640 * kib)));
}

HEDDLE_TEST(kept_range, "a build with ASan refuses uses of a range that waits") {
#if HEDDLE_ASAN
  drop_spare_ranges();
  std::byte* const at = use(640 * kib, 64 * kib);
  EXPECT_TRUE(::__asan_address_is_poisoned(at));
  EXPECT_TRUE(::__asan_address_is_poisoned(at + 64 * kib - 1));
  const kept_range again(640 * kib);
  ASSERT_EQ(again.data(), at);
  EXPECT_EQ(::__asan_region_is_poisoned(at, again.bytes()), nullptr);
#else
  GTEST_SKIP() << "this build is without ASan";
#endif
}

HEDDLE_TEST(kept_range, "the cells of a region are zeros again in the next one") {
  drop_spare_ranges();
  constexpr std::size_t bytes = std::size_t{1} << 32;
  std::uintptr_t base = 0;
  std::size_t chunks = 0;
  {
    region r(bytes);
    base = r.base();
    slabs first(r), second(r);
    for (slabs* s : {&first, &second}) {
      for (const std::size_t n : {8u, 40u, 48u, 64u, 200u, 1000u, 2048u, 4000u, 9000u, 32768u})
        for (int i = 0; i != (n > 2048 ? 5 : 100); ++i) std::memset(s->allocate(n), 0xa5, n);
      for (int i = 0; i != 400; ++i) std::memset(s->allocate_context(), 0xa5, slabs::context_bytes);
    }
    chunks = r.chunks_taken();
  }
  EXPECT_GE(chunks, 30u);
  EXPECT_GE(read_spare_ranges().bytes, 500 * kib);  // cleared by writing
  const region next(bytes);
  EXPECT_EQ(next.base(), base);
  const auto* const low = reinterpret_cast<const std::byte*>(next.base());
  EXPECT_TRUE(is_zero(low, (chunks + 2) * slab_chunk_bytes));
  EXPECT_TRUE(is_zero(low + (std::size_t{1} << 32), (chunks + 2) * slab_chunk_bytes));
  const auto* const heads = low + next.bytes();
  EXPECT_TRUE(is_zero(heads, next.bytes() / slab_chunk_bytes * 4));
}

HEDDLE_TEST(kept_range, "a region with a few cells of small sizes is kept with its memory") {
  drop_spare_ranges();
  for (int round = 0; round != 3; ++round) {
    region r(std::size_t{1} << 32);
    slabs s(r);
    for (const std::size_t n : {40u, 64u, 96u, 200u, 320u})
      for (int i = 0; i != 10; ++i) std::memset(s.allocate(n), 0xa5, n);
  }
  EXPECT_GE(read_spare_ranges().bytes, 5 * page);
  EXPECT_LE(read_spare_ranges().bytes, 16 * page);
  EXPECT_EQ(read_spare_ranges().ranges, 1u);
  {
    region r(std::size_t{1} << 32);
    slabs s(r);
    auto* const words = static_cast<std::uint32_t*>(s.allocate(200'000));
    std::fill_n(words, 50'000, 100);  // a cell of several chunks
  }
  EXPECT_EQ(read_spare_ranges().bytes, 0u);
  const region r(std::size_t{1} << 32);
  EXPECT_TRUE(is_zero(reinterpret_cast<const std::byte*>(r.base()) + (std::size_t{1} << 32),
                      8 * slab_chunk_bytes));
}

HEDDLE_TEST(slab, "cells are made page by page") {
  drop_spare_ranges();
  region r(std::size_t{1} << 32);
  slabs s(r);
  auto* const chunk = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(s.allocate(64)) &
                                              ~(slab_chunk_bytes - 1));
  const auto resident = [&] {
    unsigned char pages[slab_chunk_bytes / page] = {};
    EXPECT_EQ(::mincore(chunk, slab_chunk_bytes, pages), 0);
    return std::count_if(std::begin(pages), std::end(pages), [](unsigned char p) { return p & 1; });
  };
  EXPECT_LE(resident(), 2);
  for (int i = 0; i != 200; ++i) static_cast<void>(s.allocate(64));
  EXPECT_LE(resident(), 5);
  EXPECT_EQ(r.chunks_taken(), 1u);
  while (r.chunks_taken() == 1) static_cast<void>(s.allocate(64));
  EXPECT_EQ(resident(), 16);
  EXPECT_GE(s.live(), (slab_chunk_bytes - page) / 64);
}

}  // namespace heddle::detail
