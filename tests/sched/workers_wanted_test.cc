// SPDX-License-Identifier: MIT
// The number of workers in the environment: a number, or one for each core.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "heddle/heddle.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

HEDDLE_TEST(workers_wanted, "HEDDLE_WORKERS is a number or auto") {
  ::setenv("HEDDLE_WORKERS", "auto", 1);
  EXPECT_EQ(runtime().workers(), std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  ::setenv("HEDDLE_WORKERS", "3", 1);
  EXPECT_EQ(runtime().workers(), 3u);
  for (const char* const wrong : {"0", "-1", "many", "autos", "2x", "65"}) {
    ::setenv("HEDDLE_WORKERS", wrong, 1);
    EXPECT_THROW(runtime(), failure) << wrong;
  }
  ::unsetenv("HEDDLE_WORKERS");
}

}  // namespace
}  // namespace heddle::test
