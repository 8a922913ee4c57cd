// SPDX-License-Identifier: MIT
// The examples of transactions, each on two threads: what they promise holds however these overlap.
#include "output.hh"
#include "support/test.hh"

using heddle::test::expect_output;

namespace {

void expect_on_kernel_drivers(const char* name, const char* wanted) {
  for (const char* const driver : {"epoll", "poll"}) expect_output(name, wanted, driver);
}

}  // namespace

HEDDLE_TEST(transactions, "bank: no money appears or vanishes, and nobody sees a wrong sum") {
  expect_on_kernel_drivers("bank",
                           "all customers have left\n"
                           "sum 8000, seen wrong 0 times\n");
}

HEDDLE_TEST(transactions, "bounded_buffer: every item is taken, in the order of its producer") {
  expect_on_kernel_drivers("bounded_buffer", "10000 items taken, each buffer's in order: yes\n");
}

HEDDLE_TEST(transactions, "philosophers: all eat as often as they want, neighbours never at once") {
  expect_on_kernel_drivers("philosophers",
                           "philosopher 0 ate 2000 times\n"
                           "philosopher 1 ate 2000 times\n"
                           "philosopher 2 ate 2000 times\n"
                           "philosopher 3 ate 2000 times\n"
                           "philosopher 4 ate 2000 times\n"
                           "neighbours at once: never\n");
}

HEDDLE_TEST(transactions, "cache: every request gets its own page, and the bytes are bounded") {
  expect_on_kernel_drivers("cache", "32000 requests answered, most from the cache, 0 wrong\n");
}
