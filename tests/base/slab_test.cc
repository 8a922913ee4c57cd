// SPDX-License-Identifier: MIT
// Slabs: sizes, reuse, finding cells, and cells freed by other threads.
#include "heddle/base/slab.hh"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(slab, "cells of all sizes are apart, writable and found by address") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  std::vector<std::pair<char*, std::size_t>> cells;
  for (std::size_t bytes = 1; bytes < 200'000; bytes = bytes * 3 / 2 + 1)
    for (int i = 0; i < 4; ++i) {
      char* at = static_cast<char*>(s.allocate(bytes));
      std::memset(at, static_cast<int>(bytes & 0xff), bytes);
      cells.push_back({at, bytes});
    }
  for (const auto& [at, bytes] : cells) {
    EXPECT_EQ(s.cell_of(at), at);
    EXPECT_EQ(s.cell_of(at + bytes - 1), at);
    EXPECT_TRUE(s.same_cell(at, at + bytes / 2));
    EXPECT_EQ(at[bytes - 1], static_cast<char>(bytes & 0xff));
  }
  EXPECT_FALSE(s.same_cell(cells[0].first, cells[1].first));
  int outside = 0;
  EXPECT_EQ(s.cell_of(&outside), nullptr);
  EXPECT_FALSE(s.same_cell(cells[0].first, &outside));
  for (const auto& [at, bytes] : cells) s.release(at, bytes);
  EXPECT_EQ(s.live(), 0u);
}

HEDDLE_TEST(slab, "a cell above 48 bytes, or of a multiple of 16, is aligned to 16") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  for (std::size_t bytes = 1; bytes < 70'000; bytes += 1 + bytes / 32) {
    const std::size_t alignment = bytes > 48 || bytes % 16 == 0 ? 16 : 8;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.allocate(bytes)) % alignment, 0u) << bytes;
  }
}

HEDDLE_TEST(slab, "first cells of different sizes lie at different places of their pages") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  constexpr std::uintptr_t page = 4096;
  std::uintptr_t apart = 192;
  constexpr std::uintptr_t worker_part = 768;  // where workers keep what is hot
  std::vector<std::uintptr_t> places;
  const auto note = [&](const void* cell) {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(cell) % page;
    EXPECT_GE(at, worker_part);
    for (const std::uintptr_t other : places)
      EXPECT_GE(std::max(at, other) - std::min(at, other), apart);
    places.push_back(at);
  };
  void* const context = s.allocate_context();
  note(context);
  for (const std::size_t bytes : {40u, 48u, 64u, 96u, 128u, 160u, 192u, 256u, 320u, 512u})
    note(s.allocate(bytes));
  apart = 128;  // large cells are also aligned to 512
  note(s.allocate(5000));
  s.release_context(context);
}

HEDDLE_TEST(slab, "no room is lost before the cells where a program has many chunks") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  constexpr std::size_t bytes = 2048;
  constexpr std::size_t fit = slab_chunk_bytes / bytes - 1;  // the header takes the room of one
  for (std::size_t i = 0; i < 64 * fit; ++i) static_cast<void>(s.allocate(bytes));
  const std::size_t before = r.chunks_taken();
  for (std::size_t i = 0; i < 100 * fit; ++i) static_cast<void>(s.allocate(bytes));
  EXPECT_LE(r.chunks_taken() - before, 102u);
}

HEDDLE_TEST(slab, "what is freed is used again, also large cells") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  for (const std::size_t bytes : {48u, 2048u, 5000u, 100'000u}) {
    void* first = s.allocate(bytes);
    s.release(first, bytes);
    EXPECT_EQ(s.allocate(bytes), first);
    s.release(first, bytes);
  }
}

HEDDLE_TEST(slab, "cells that another thread frees come home") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  std::vector<void*> cells;
  for (int i = 0; i < 1000; ++i) cells.push_back(s.allocate(64));
  std::thread([&] {
    for (void* c : cells) slabs::release_elsewhere(c, 64);
  }).join();
  s.collect_remote();
  EXPECT_EQ(s.live(), 0u);
}

HEDDLE_TEST(slab, "a full region is an error that says what to raise") {
  region r(slab_chunk_bytes * 2);
  slabs s(r);
  std::vector<void*> cells;
  try {
    for (;;) cells.push_back(s.allocate(2048));
  } catch (const failure& f) {
    EXPECT_NE(std::string(f.what()).find("memory_bytes"), std::string::npos);
  }
  EXPECT_GE(cells.size(), 31u);
  const std::size_t live = s.live();
  for (const std::size_t bytes : {3000u, 30'000u, 300'000u})
    EXPECT_THROW(static_cast<void>(s.allocate(bytes)), failure);
  EXPECT_EQ(s.live(), live);
  r.open_reserve();  // for those that end the program
  s.release(s.allocate(3000), 3000);
  for (void* c : cells) s.release(c, 2048);
}

HEDDLE_TEST(slab,
            "a cell is aligned to the largest power of two that divides its size, up to 512") {
  region r(std::size_t{1} << 32);
  slabs s(r);
  std::vector<std::pair<void*, std::size_t>> cells;
  const auto take = [&](std::size_t bytes) {
    const std::size_t alignment =
        std::min(bytes & -bytes, bytes > slab_large_max ? slab_chunk_bytes / 2 : slab_aligned_max);
    void* const cell = s.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cell) % alignment, 0U) << bytes;
    std::memset(cell, 1, bytes);
    EXPECT_EQ(s.cell_of(static_cast<char*>(cell) + bytes - 1), cell) << bytes;
    cells.emplace_back(cell, bytes);
  };
  for (int round = 0; round < 2; ++round) {
    // All small sizes; then large cells, and cells of several chunks.
    for (std::size_t bytes = 8; bytes <= 2048; bytes += 8) take(bytes), take(bytes);
    for (std::size_t unit = 64; unit <= 65536; unit *= 2)
      for (const std::size_t times : {1, 3, 5, 7}) take(unit * times), take(unit * times);
    for (const auto& [cell, bytes] : cells) s.release(cell, bytes);
    cells.clear();
  }
  EXPECT_EQ(s.live(), 0U);
}
