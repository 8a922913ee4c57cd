// SPDX-License-Identifier: MIT
// Counts of the pool of threads for calls that block: how many threads there are, how many
// calls wait, and how long calls waited for a thread and ran. Read with blocking_statistics()
// (io/blocking.hh).
#pragma once

#include <cstdint>

#include "heddle/probe/histogram.hh"

namespace heddle {

struct pool_statistics {
  std::uint32_t threads = 0;  ///< threads that exist now
  std::uint32_t threads_idle = 0;
  std::uint32_t threads_peak = 0;
  std::uint32_t queued = 0;  ///< calls that wait for a thread now
  std::uint32_t queued_peak = 0;
  std::uint64_t finished = 0;    ///< calls that ran to their end
  std::uint64_t refused = 0;     ///< because the queue was full, or no thread could be made
  std::uint64_t taken_back = 0;  ///< cancelled before a thread took them
  std::uint64_t left_alone = 0;  ///< look-ups of names that were cancelled while they ran
  histogram wait_ns;             ///< from the submission until a thread began
  histogram run_ns;              ///< from there to the end of the call
};

}  // namespace heddle
