// SPDX-License-Identifier: MIT
// The state shared by a child's handle, its waiters and its collector.
#pragma once

#include "heddle/io/process.hh"

namespace heddle::detail {

class process_state {
 public:
  explicit process_state(int id) noexcept : pid(id) {}
  process_state(const process_state&) = delete;
  process_state& operator=(const process_state&) = delete;

  /// Sets how it ended (or -errno: that will never be known) and ends all waits.
  void ended(exit_status how, int error, worker& w) noexcept;

  const int pid;
  int pidfd = -1;  ///< open until it was collected
  bool done = false;
  int failure_code = 0;  ///< -errno
  exit_status status;
  list<exit_wait::node> waiters;
};

/// Waits for the child in the root scope, collects it, tells the waiters.
[[nodiscard]] task<> collect(std::shared_ptr<process_state> child);

}  // namespace heddle::detail
