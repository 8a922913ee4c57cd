// SPDX-License-Identifier: MIT
// Lets a test wait for a condition instead of a fixed time.
//
//   EXPECT_TRUE(co_await wait_until([&] { return web.idle() == 0; }));
#pragma once

#include <chrono>

#include "heddle/base/clock.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/task.hh"

namespace heddle::test {

/// Calls holds() every millisecond of the runtime's time until it is true. Gives false if it was
/// not within `limit`, which is longer than a busy machine needs.
template <class F>
task<bool> wait_until(F holds, nanoseconds limit = std::chrono::seconds(20)) {
  const time_point end = clock::now() + limit;
  while (!holds()) {
    if (clock::now() >= end) co_return false;
    co_await sleep_for(std::chrono::milliseconds(1));
  }
  co_return true;
}

}  // namespace heddle::test
