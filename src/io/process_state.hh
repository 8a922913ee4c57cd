// SPDX-License-Identifier: MIT
// The state shared by a child's handle, its waiters and its collector.
#pragma once

#include "heddle/io/process.hh"

namespace heddle::detail {

class process_state {
 public:
  process_state() noexcept = default;
  process_state(const process_state&) = delete;
  process_state& operator=(const process_state&) = delete;

  /// Sets how it ended (or -errno: that will never be known) and ends all waits.
  void ended(exit_status how, int error, worker& w) noexcept;

  int pid = -1;    ///< -1 until it runs
  int pidfd = -1;  ///< open until it was collected; -1 too while there is no descriptor for it
  bool done = false;
  int failure_code = 0;  ///< -errno
  exit_status status;
  list<exit_wait::node> waiters;
};

/// Waits for the child in the root scope, collects it, tells the waiters. Begin it once the child
/// runs: from there on nothing may fail, so a child without a pidfd is asked now and then.
[[nodiscard]] task<> collect(std::shared_ptr<process_state> child);

}  // namespace heddle::detail
