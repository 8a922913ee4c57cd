// SPDX-License-Identifier: MIT
// How many blocks the kernel has: a window that follows the load, and few while blocks are short.
#if HEDDLE_WITH_URING
#include "io/uring_blocks.hh"

#include "support/drivers.hh"

using namespace heddle;

namespace {

constexpr std::uint32_t block_count = 1024;

/// Everything that the kernel has is filled, as by many receives in one turn.
std::uint32_t fill_all(uring_blocks& blocks) {
  const std::uint32_t filled = blocks.in_ring();
  for (std::uint32_t i = 0; i != filled; ++i) blocks.taken();
  return filled;
}

}  // namespace

HEDDLE_TEST(uring_blocks, "while blocks are short the kernel has a sixteenth of them") {
  if (const test::driver_maker make("io_uring"); !make.missing().empty())
    GTEST_SKIP() << make.missing();
  io_uring ring;
  ASSERT_EQ(io_uring_queue_init(8, &ring, 0), 0);
  {
    uring_blocks blocks(ring, block_count, 64);
    std::uint32_t held = 0;
    for (blocks.refill(); held < block_count / 4; blocks.refill()) held += fill_all(blocks);
    EXPECT_GT(blocks.in_ring(), block_count / 16);  // the window has grown

    blocks.run_short();
    held += fill_all(blocks);
    blocks.refill();
    EXPECT_EQ(blocks.in_ring(), std::min(block_count / 16, block_count - held));
    for (std::uint32_t block = 0; block != block_count / 4; ++block, --held) blocks.give(block);
    held += fill_all(blocks);
    blocks.refill();
    EXPECT_EQ(blocks.in_ring(), block_count / 16);
    EXPECT_TRUE(blocks.short_of_blocks());

    for (std::uint32_t block = block_count / 4; blocks.available() < block_count / 2; ++block)
      blocks.give(block);
    blocks.refill();
    EXPECT_FALSE(blocks.short_of_blocks());
    EXPECT_GT(blocks.in_ring(), block_count / 16);
  }
  io_uring_queue_exit(&ring);
}
#endif
