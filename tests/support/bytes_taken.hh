// SPDX-License-Identifier: MIT
// Memory where it is taken, so that a figure is the same in every run.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>

#include "heddle/heddle.hh"

namespace heddle::test {

/// Bytes of this worker's chunks of cells, and of the heap. Only where there is one worker: a color
/// that another takes over has its next cells there, and the heap is everybody's.
inline std::size_t bytes_taken() {
  EXPECT_EQ(runtime::here().workers(), 1u) << "make the runtime with test::one_worker()";
  const struct ::mallinfo2 heap = ::mallinfo2();
  return worker::here().memory.home().chunks_taken() * slab_chunk_bytes + heap.uordblks +
         heap.hblkhd;
}

}  // namespace heddle::test
