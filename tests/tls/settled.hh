// SPDX-License-Identifier: MIT
// Runs a test's body, and then lets closed streams say their ends: closing does not wait for that.
#pragma once

#include <memory>

#include "heddle/core/sleep.hh"
#include "support/drivers.hh"

namespace heddle::test {

inline task<> settled(task<> (*body)()) {
  co_await body();
  co_await sleep_for(std::chrono::milliseconds(2));
}

/// As run_plain().
inline void run_settled(std::unique_ptr<driver> d, task<> (*body)()) {
  auto* const sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), {});
  rt.run(settled(body));
  if (sim == nullptr) return;
  EXPECT_EQ(sim->open_descriptors(), 0u) << sim->trace_text();
  EXPECT_EQ(sim->blocks_out(), 0u);
}

}  // namespace heddle::test
